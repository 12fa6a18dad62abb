"""Log-probabilities of chosen tokens in C++: logits are read once, no log-softmax is written. Needs torch."""

from pathlib import Path
from typing import Any

from torch import Tensor

from popcorn.ops.native import a_row, native

LANGUAGE = "cpp"

_call, accepts, SOURCE, traced = native(
    Path(__file__).with_name("selective_log_softmax.cpp"),
    lambda logits, index: [(index.shape, logits.dtype)],
    kept=lambda logits, index: a_row(logits, 2),
)


def run(logits: Tensor, index: Tensor) -> Any:
    """As the reference."""
    return _call((logits, index), ())
