"""RMS norm in plain torch. Needs torch."""

import torch
from torch import Tensor


def rms_norm(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    """x (…, D), weight (D) → (…, D)."""
    return torch.nn.functional.rms_norm(x, weight.shape, weight, eps)
