"""The weighted sum of what experts made of each token, in plain torch. Needs torch."""

import torch
from torch import Tensor


def moe_combine(rows: Tensor, order: Tensor, weights: Tensor) -> Tensor:
    """rows (N·A, D), order (N·A) a permutation of the slots, weights (N, A) → (N, D)."""
    n, a = weights.shape
    place = torch.empty_like(order).scatter_(0, order, torch.arange(n * a, device=order.device))
    return (rows[place].reshape(n, a, -1) * weights.unsqueeze(-1)).sum(1)
