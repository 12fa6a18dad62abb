"""A product of a few rows with weights of 8 bits in C++: bound by reading the weights, a byte each; with more rows a product of matrices is faster. Needs torch."""

from pathlib import Path
from typing import Any

from torch import Tensor

from popcorn.ops.calls import Answer, Call, Rejected, needs
from popcorn.ops.native import native

LANGUAGE = "cpp"
MOST_ROWS = 16

_call, _accepts, SOURCE, traced = native(
    Path(__file__).with_name("int8_matmul.cpp"), lambda x, weight, scale: [((*x.shape[:-1], weight.shape[0]), x.dtype)], skips=True
)
_few = needs(R=(1, MOST_ROWS))


def accepts(call: Call) -> Answer:
    """What C++ ops take, up to MOST_ROWS rows."""
    answer = _few(call)
    return answer if isinstance(answer, Rejected) else _accepts(call)


def run(x: Tensor, weight: Tensor, scale: Tensor) -> Any:
    """As the reference."""
    return _call((x, weight, scale), ())
