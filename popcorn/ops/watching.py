"""Whether calls are looked at, or changed, from outside. Needs torch.

A kernel that takes addresses is invisible to what stands between a call and its memory: it would be left out of a trace as a constant, lose
a tangent without a word, or read memory that a fake tensor does not have.
"""

import torch
from torch.autograd import forward_ad

_is_compiling = torch.compiler.is_compiling
_functions = torch._C._are_functorch_transforms_active
_modes = torch._C._len_torch_dispatch_stack
_tracing = torch._C._is_tracing


def watched() -> bool:
    """Inside torch.compile, torch.func (vmap, grad, jvp), forward gradients, torch.jit.trace, or a mode of the dispatcher (fake tensors, make_fx)."""
    return _is_compiling() or _functions() or _modes() > 0 or forward_ad._current_level >= 0 or _tracing()


def transformed() -> bool:
    """Inside torch.func or forward gradients: nothing goes through a custom operator there, and a tangent is lost without a word."""
    return not _is_compiling() and (_functions() or forward_ad._current_level >= 0)
