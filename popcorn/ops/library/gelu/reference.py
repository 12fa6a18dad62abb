"""GELU, the tanh form, in plain torch. Needs torch."""

import torch
from torch import Tensor


def gelu(x: Tensor) -> Tensor:
    """x (…, D) → (…, D)."""
    return torch.nn.functional.gelu(x, approximate="tanh")
