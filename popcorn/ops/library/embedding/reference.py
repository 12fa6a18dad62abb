"""Rows of a table in plain torch. Needs torch."""

import torch
from torch import Tensor


def embedding(index: Tensor, weight: Tensor) -> Tensor:
    """index (…) of whole numbers in [0, V), weight (V, D) → (…, D)."""
    return torch.nn.functional.embedding(index, weight)
