"""A native op, in C++ or Triton, as torch.compile sees it: a custom operator with shapes that can be traced, and a backward that is one, too. Needs torch."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from popcorn.ops.signature import Signature
from popcorn.ops.watching import transformed

OutputSpec = tuple[Sequence[int], torch.dtype]
Outputs = Callable[..., Sequence[OutputSpec]]
"""Inputs and scalars → shape and dtype of each output."""


class Kernel(Protocol):
    """What carries an op out, in C++ or in Triton."""

    @property
    def outputs(self) -> Outputs: ...

    @property
    def differentiable(self) -> bool: ...

    def forward(self, tensors: Sequence[Tensor], scalars: Sequence[float]) -> tuple[Tensor, ...]:
        """New outputs."""

    def backward(self, tensors: Sequence[Tensor], cotangents: Sequence[Tensor], scalars: Sequence[float]) -> list[Tensor | None]:
        """The gradient of every floating input; None for an index."""


def traced(name: str, signature: Signature, kernel: Kernel) -> Callable[..., Any]:
    """The operator `popcorn::<name>` behind a call that takes the op's arguments: tensors first, then scalars."""
    tensors = len(signature.inputs)

    def forward(*args: Any) -> Any:
        return _one_or_all(kernel.forward(args[:tensors], args[tensors:]))

    def shapes(*args: Any) -> Any:
        return _one_or_all(tuple(args[0].new_empty(shape, dtype=dtype) for shape, dtype in kernel.outputs(*args)))

    operator = torch.library.custom_op(f"popcorn::{name}", forward, mutates_args=(), schema=signature.schema())
    operator.register_fake(shapes)

    def call(*args: Any, **kwargs: Any) -> Any:
        if transformed():
            raise NotImplementedError(
                f"{operator._qualname} has no rule for torch.func or forward gradients; the op's own call goes to its reference"
            )
        given = {**signature.scalars, **dict(zip(signature.names, args, strict=False)), **kwargs}
        return operator(*[given[name] for name in signature.names])

    if not kernel.differentiable:
        return call

    def gradients(inputs: Sequence[Tensor], cotangents: Sequence[Tensor], scalars: Sequence[float]) -> list[Tensor]:
        return [made for made in kernel.backward(inputs, cotangents, tuple(scalars)) if made is not None]

    def gradient_shapes(inputs: Sequence[Tensor], cotangents: Sequence[Tensor], scalars: Sequence[float]) -> list[Tensor]:
        return [one.new_empty(one.shape) for one in inputs if one.is_floating_point()]

    backward = torch.library.custom_op(
        f"popcorn::{name}_backward",
        gradients,
        mutates_args=(),
        schema="(Tensor[] inputs, Tensor[] cotangents, float[] scalars) -> Tensor[]",
    )
    backward.register_fake(gradient_shapes)

    def keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs[:tensors])
        ctx.scalars = [float(scalar) for scalar in inputs[tensors:]]

    def differentiate(ctx: Any, *cotangents: Tensor) -> tuple[Any, ...]:
        given = ctx.saved_tensors
        made = iter(backward(list(given), [one for one in cotangents if one is not None], ctx.scalars))
        return (*[next(made) if one.is_floating_point() else None for one in given], *[None for _ in ctx.scalars])

    operator.register_autograd(differentiate, setup_context=keep)
    return call


def _one_or_all(outputs: tuple[Any, ...]) -> Any:
    return outputs[0] if len(outputs) == 1 else outputs
