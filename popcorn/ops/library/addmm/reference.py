"""A matrix product with a bias in plain torch. Needs torch."""

import torch
from torch import Tensor


def addmm(bias: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """bias (N), a (…, K), b (K, N) → (…, N)."""
    return torch.addmm(bias, a.reshape(-1, a.shape[-1]), b).reshape(*a.shape[:-1], b.shape[1])
