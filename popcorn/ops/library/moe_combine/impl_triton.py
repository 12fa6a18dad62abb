"""The weighted sum of what experts made of each token, in Triton. Needs torch and triton.

Bound by memory: rows read, the sums written, (1 + A)·N·D elements, where plain torch writes the rows twice more. Backward: rows and dy read, the rows'
gradients written, (1 + 2·A)·N·D, and a weight's gradient summed by the program that has its row.
"""

from typing import Any

from torch import Tensor

from popcorn.ops import slots
from popcorn.ops.gpu import gpu

LANGUAGE = "triton"


def _forward(tensors: Any, scalars: Any) -> Any:
    rows, order, weights = tensors
    return (slots.gather_sum(rows, slots.places_of(order.contiguous()), weights.shape[1], weights),), ()


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    rows, order, weights = tensors
    drows, dweights = slots.combine_back(rows, order.contiguous(), weights, cotangents[0])
    return [drows, None, dweights]


_call, accepts, SOURCE, traced = gpu(
    __file__, _forward, _backward, lambda rows, order, weights: [((weights.shape[0], rows.shape[1]), rows.dtype)], parts=(slots,)
)


def run(rows: Tensor, order: Tensor, weights: Tensor) -> Any:
    """As the reference."""
    return _call((rows, order, weights))
