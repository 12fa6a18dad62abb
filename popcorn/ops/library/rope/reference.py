"""Rotary position embedding in plain torch. Needs torch."""

import torch
from torch import Tensor


def rope(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x (…, T, K), K even; cos and sin (T, K) → (…, T, K)."""
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin
