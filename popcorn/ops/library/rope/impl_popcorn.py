"""Rotary embedding in C++: no rotated copy, one reading, one writing. Needs torch."""

from pathlib import Path
from typing import Any

from torch import Tensor

from popcorn.ops.native import native

LANGUAGE = "cpp"

_call, accepts, SOURCE, traced = native(Path(__file__).with_name("rope.cpp"), lambda x, cos, sin: [(x.shape, x.dtype)], skips=True)


def run(x: Tensor, cos: Tensor, sin: Tensor) -> Any:
    """As the reference."""
    return _call((x, cos, sin), ())
