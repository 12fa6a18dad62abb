"""A matrix product in Triton, for Hopper. Needs torch and triton.

Bound by operations: 2·R·K·N forward, twice that backward (dy · bᵀ and aᵀ · dy). See `products` for how, and what it takes.
"""

from typing import Any

from torch import Tensor

from popcorn.ops import blocks, products
from popcorn.ops.gpu import gpu

LANGUAGE = "triton"
MULTIPLES = products.MULTIPLES


def _forward(tensors: Any, scalars: Any) -> Any:
    a, b = tensors
    return (products.like(a, products.multiply(products.flat(a), b)),), ()


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    a, b = tensors
    dy = products.flat(cotangents[0])
    da = products.like(a, products.multiply(dy, b.t())) if needed[0] else None
    db = products.multiply(products.flat(a).t(), dy) if needed[1] else None
    return [da, db]


_call, accepts, SOURCE, traced = gpu(
    __file__, _forward, _backward, lambda a, b: [((*a.shape[:-1], b.shape[1]), a.dtype)], products.accepts, parts=(blocks, products)
)


def run(a: Tensor, b: Tensor) -> Any:
    """As the reference."""
    return _call((a, b))
