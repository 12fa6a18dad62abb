"""Residual sum and its RMS norm in plain torch. Needs torch."""

import torch
from torch import Tensor


def add_rms_norm(x: Tensor, residual: Tensor, weight: Tensor, eps: float = 1e-6) -> tuple[Tensor, Tensor]:
    """x, residual (…, D), weight (D) → normed sum, sum, each (…, D)."""
    total = x + residual
    return torch.nn.functional.rms_norm(total, weight.shape, weight, eps), total
