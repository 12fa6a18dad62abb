"""Gradients that can be differentiated in their turn. Needs torch.

A kernel's own backward pass ends there. Whoever asks for gradients with `create_graph` gets those of the op's reference, at the same place.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from popcorn.ops.registry import Op


def gradients_of_reference(
    op: Op, tensors: Sequence[Tensor], scalars: Sequence[Any], cotangents: Sequence[Tensor], needed: Sequence[bool]
) -> list[Tensor | None]:
    """The gradient of every tensor that `needed` marks, None for the others."""
    # one tensor may be made of another, or be the same: what leads from one to the other is no part of this op's gradient
    own = [tensor.view_as(tensor) if wanted else tensor for tensor, wanted in zip(tensors, needed, strict=True)]
    names = dict(zip((spec.name for spec in op.signature.inputs), own, strict=True))
    defaults = op.signature.scalars
    made = op.reference(**names, **{name: type(defaults[name])(value) for name, value in zip(defaults, scalars, strict=True)})
    outputs = made if isinstance(made, tuple) else (made,)
    pairs = [(output, cotangent) for output, cotangent in zip(outputs, cotangents, strict=True) if output.requires_grad]
    wanted = [tensor for tensor, needs in zip(own, needed, strict=True) if needs]
    found = iter(torch.autograd.grad([o for o, _ in pairs], wanted, [c for _, c in pairs], create_graph=True, allow_unused=True))
    return [next(found) if needs else None for needs in needed]
