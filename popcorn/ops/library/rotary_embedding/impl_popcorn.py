"""Rotary position embedding in C++: the angles of a block of times are made once for all heads. Needs torch."""

from pathlib import Path
from typing import Any

from torch import Tensor

from popcorn.ops.native import native

LANGUAGE = "cpp"

_call, accepts, SOURCE, traced = native(Path(__file__).with_name("rotary_embedding.cpp"), lambda x, positions, theta: [(x.shape, x.dtype)])


def run(x: Tensor, positions: Tensor, theta: float = 10000.0) -> Any:
    """As the reference."""
    return _call((x, positions), (theta,))
