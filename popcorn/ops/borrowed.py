"""What implementations by other people's kernels need around them: memory as those kernels take it. Needs torch."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

ALIGNED = 16
"""Bytes; loads of a whole vector start at multiples of it."""


def aligned(tensor: Tensor) -> Tensor:
    """Contiguous, from an address that vector loads take; a copy where it is not."""
    dense = tensor.contiguous()
    if torch.compiler.is_compiling() or dense.data_ptr() % ALIGNED == 0:
        return dense
    return dense.clone()


def rows(tensor: Tensor) -> Tensor:
    """(…, D) → (R, D), as `aligned`."""
    return aligned(tensor.reshape(-1, tensor.shape[-1]))


class _Dense(torch.autograd.Function):
    """The same tensor, with a gradient that is `aligned`."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor) -> Tensor:
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        return aligned(gradients[0])


def dense(output: Tensor) -> Tensor:
    """An output whose kernel's backward takes its gradient as it comes: makes that `aligned` first."""
    return _Dense.apply(output) if output.requires_grad else output


def mean_or_nan(mean: Tensor, target: Tensor, dtype: torch.dtype) -> Tensor:
    """A mean loss that is 0 where every row is left out, as torch's is then: nan. In `dtype`, the logits'."""
    return torch.where((target != -100).any(), mean, float("nan")).to(dtype)


class _Spared(torch.autograd.Function):
    """An activation and its gate, whose backward kernel writes both gradients over the inputs that it is given: it is given copies."""

    @staticmethod
    def forward(ctx: Any, forward: Callable[..., Any], backward: Callable[..., Any], gate: Tensor, up: Tensor) -> Tensor:
        gate, up = gate.contiguous(), up.contiguous()
        ctx.save_for_backward(gate, up)
        ctx.kernel = backward
        result: Tensor = forward(gate, up)[2]
        return result

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *cotangents: Tensor) -> tuple[None, None, Tensor, Tensor]:
        gate, up = ctx.saved_tensors
        return (None, None, *ctx.kernel(gate.clone(), up.clone(), cotangents[0].contiguous()))


def spared(forward: Callable[..., Any], backward: Callable[..., Any], gate: Tensor, up: Tensor) -> Tensor:
    """The third result of `forward(gate, up)`; `backward(gate, up, cotangent)` may write over copies of both, not over the caller's."""
    result: Tensor = _Spared.apply(forward, backward, gate, up)
    return result
