"""Self-attention in Triton, for Hopper. Needs torch and triton.

Bound by operations: 4·B·H·T²·K forward (half of it where causal), 2.5 times that backward at least, 3.5 times as it is done here. See `attending`.
"""

from typing import Any

from torch import Tensor

from popcorn.ops import attending, blocks
from popcorn.ops.calls import needs
from popcorn.ops.gpu import gpu
from popcorn.ops.tiles import fresh

LANGUAGE = "triton"
MULTIPLES = attending.MULTIPLES


def _forward(tensors: Any, scalars: Any) -> Any:
    q, k, v = tensors
    y = fresh(q)
    return (y,), (y, attending.attend(q, k, v, y, bool(scalars[0])))


def _backward(tensors: Any, kept: Any, cotangents: Any, scalars: Any, needed: Any) -> list[Tensor | None]:
    made = [fresh(t) for t in tensors]
    y, sums = kept
    attending.attend_back(tensors, y, sums, cotangents[0], made, needed, bool(scalars[0]))
    return [one if wanted else None for one, wanted in zip(made, needed, strict=True)]


_call, accepts, SOURCE, traced = gpu(
    __file__,
    _forward,
    _backward,
    lambda q, k, v, causal: [(q.shape, q.dtype)],
    needs(precisions=("bfloat16", "float16"), capability=((9, 0), (9, 0)), multiples=MULTIPLES, K=(64, 128)),
    parts=(attending, blocks),
)


def run(q: Tensor, k: Tensor, v: Tensor, causal: bool = True) -> Any:
    """As the reference."""
    return _call((q, k, v), (causal,))
