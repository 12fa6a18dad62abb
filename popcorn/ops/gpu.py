"""An op in Triton: eager calls with little Python, autograd, and a custom operator for torch.compile. Needs torch and triton.

`forward(tensors, scalars)` gives (outputs, kept): what the backward pass wants beside the inputs. `backward(tensors, kept, cotangents,
scalars, needed)` gives the gradient of every tensor that `needed` marks. Tensors may have any layout.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from popcorn.ops.calls import ACCEPTED, Accepts, Answer, Call, Rejected
from popcorn.ops.gpu_text import gpu_text
from popcorn.ops.registry import Op, find_op
from popcorn.ops.traced import Outputs, traced
from popcorn.ops.twice import gradients_of_reference

PRECISIONS = ("float32", "tf32", "bfloat16", "float16")
OLDEST = (8, 0)
"""Least compute capability: bfloat16 in hardware."""

Forward = Callable[..., tuple[tuple[Tensor, ...], tuple[Tensor, ...]]]
Backward = Callable[[Sequence[Tensor], Sequence[Tensor], Sequence[Tensor], Sequence[float], Sequence[bool]], list[Tensor | None]]

_grad_enabled = torch.is_grad_enabled


@dataclass(frozen=True)
class GpuKernel:
    """One op's launches."""

    op: Op
    run_forward: Forward
    run_backward: Backward | None
    outputs: Outputs
    takes_needed: bool = False
    """Whether the forward pass makes the gradients, and so is told which are needed as a third argument."""

    @property
    def differentiable(self) -> bool:
        """Whether there is a backward pass."""
        return self.run_backward is not None

    def forward(self, tensors: Sequence[Tensor], scalars: Sequence[float]) -> tuple[Tensor, ...]:
        """New outputs."""
        if self.takes_needed:
            return self.run_forward(tensors, scalars, [False] * len(tensors))[0]
        return self.run_forward(tensors, scalars)[0]

    def backward(self, tensors: Sequence[Tensor], cotangents: Sequence[Tensor], scalars: Sequence[float]) -> list[Tensor | None]:
        """Gradients of every floating input, each in memory of its own; what the forward pass kept is made again."""
        assert self.run_backward is not None
        kept = self.run_forward(tensors, scalars)[1]
        made = self.run_backward(tensors, kept, cotangents, scalars, [t.is_floating_point() for t in tensors])
        seen: set[int] = set()
        for index, one in enumerate(made):
            if one is not None and one.untyped_storage().data_ptr() in seen:  # two sums in one buffer, say
                made[index] = one.clone()
            elif one is not None:
                seen.add(one.untyped_storage().data_ptr())
        return made


class _Differentiable(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, kernel: GpuKernel, scalars: tuple[float, ...], *tensors: Tensor) -> Any:
        if kernel.takes_needed:
            outputs, kept = kernel.run_forward(tensors, scalars, ctx.needs_input_grad[2:])
        else:
            outputs, kept = kernel.run_forward(tensors, scalars)
        ctx.kernel, ctx.scalars, ctx.count = kernel, scalars, len(tensors)
        ctx.save_for_backward(*tensors, *kept)
        return outputs[0] if len(outputs) == 1 else outputs

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> Any:
        saved, count = ctx.saved_tensors, ctx.count
        if _grad_enabled():  # whoever asks with create_graph may differentiate again
            op = ctx.kernel.op
            return (None, None, *gradients_of_reference(op, saved[:count], ctx.scalars, cotangents, ctx.needs_input_grad[2:]))
        made = ctx.kernel.run_backward(saved[:count], saved[count:], cotangents, ctx.scalars, ctx.needs_input_grad[2:])
        return (None, None, *made)


_apply_plainly = super(torch.autograd.Function, _Differentiable).apply
"""Without what Function.apply does for torch.func first, which costs as much as a launch."""
_transformed = torch._C._are_functorch_transforms_active


def gpu(
    path: str,
    forward: Forward,
    backward: Backward | None,
    outputs: Outputs,
    accepts: Accepts | None = None,
    takes_needed: bool = False,
    parts: tuple[Any, ...] = (),
) -> tuple[Callable[..., Any], Accepts, str, Callable[..., Any]]:
    """(call, accepts, source, operator for torch.compile): `call(tensors, scalars)` gives the output or a tuple of outputs.

    path: the implementation's file. backward: None where there is none. accepts: further conditions, asked after those that all share. parts:
    modules of Popcorn that it is made of, beside those that all are.
    """
    op = find_op(Path(path).parent.name)
    kernel = GpuKernel(op, forward, backward, outputs, takes_needed)

    def call(tensors: tuple[Tensor, ...], scalars: tuple[float, ...] = ()) -> Any:
        if backward and _grad_enabled():
            for tensor in tensors:
                if tensor.requires_grad:
                    return (_Differentiable.apply if _transformed() else _apply_plainly)(kernel, scalars, *tensors)
        made = kernel.forward(tensors, scalars)
        return made[0] if len(made) == 1 else made

    def answer(asked: Call) -> Answer:
        if asked.device != "cuda":
            return Rejected(f"runs on cuda only; the call is on {asked.device}")
        if asked.capability is not None and asked.capability < OLDEST:
            return Rejected(f"needs compute capability {OLDEST[0]}.{OLDEST[1]}; this GPU has {asked.capability[0]}.{asked.capability[1]}")
        if asked.autocast or asked.precision not in PRECISIONS:
            return Rejected(f"takes {', '.join(PRECISIONS)} without autocast; the call is in {asked.precision}")
        if 0 in asked.dims.values():
            return Rejected("takes no empty tensors")
        return accepts(asked) if accepts else ACCEPTED

    text = gpu_text(Path(path), [part.__name__.rpartition(".")[2] for part in parts])
    return call, answer, text, traced(f"{op.name}_triton", op.signature, kernel)


def at_most(name: str, limit: int) -> Accepts:
    """A condition: a size within what one program can hold."""

    def accepts(call: Call) -> Answer:
        if call.dims.get(name, 0) > limit:
            return Rejected(f"holds a row in registers, so takes {name} up to {limit:,}; the call has {call.dims[name]:,}")
        return ACCEPTED

    return accepts
