"""The choice of experts in C++: a row is read once and never sorted. Needs torch."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from popcorn.ops.native import a_row, native

LANGUAGE = "cpp"


def _outputs(logits: Tensor, k: float) -> Any:
    shape = (*logits.shape[:-1], int(k))
    return [(shape, logits.dtype), (shape, torch.int64)]


def _kept(logits: Tensor, k: float) -> Any:
    """Weights as they were before they were rounded, and experts."""
    return [*a_row(logits, int(k)), ((*logits.shape[:-1], int(k)), torch.int64)]


_call, accepts, SOURCE, traced = native(Path(__file__).with_name("top_k_router.cpp"), _outputs, kept=_kept)


def run(logits: Tensor, k: int = 2) -> Any:
    """As the reference."""
    return _call((logits,), (k,))
