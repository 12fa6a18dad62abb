"""Log of the sum of exponentials in plain torch. Needs torch."""

import torch
from torch import Tensor


def logsumexp(x: Tensor) -> Tensor:
    """x (…, D) → (…)."""
    return torch.logsumexp(x, -1)
