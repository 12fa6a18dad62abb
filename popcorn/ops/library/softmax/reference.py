"""Softmax in plain torch. Needs torch."""

import torch
from torch import Tensor


def softmax(x: Tensor) -> Tensor:
    """x (…, D) → (…, D)."""
    return torch.softmax(x, -1)
