"""Group norm in plain torch. Needs torch."""

import torch
from torch import Tensor


def group_norm(x: Tensor, weight: Tensor, bias: Tensor, groups: int = 32, eps: float = 1e-5) -> Tensor:
    """x (B, C, S), weight, bias (C), `groups` a divisor of C → (B, C, S)."""
    return torch.nn.functional.group_norm(x, groups, weight, bias, eps)
