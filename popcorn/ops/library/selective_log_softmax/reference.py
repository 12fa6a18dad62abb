"""Log-probabilities of chosen tokens in plain torch: the whole log-softmax stands in memory. Needs torch."""

import torch
from torch import Tensor


def selective_log_softmax(logits: Tensor, index: Tensor) -> Tensor:
    """logits (…, V), index (…) of whole numbers in [0, V) → (…)."""
    return torch.log_softmax(logits, -1).gather(-1, index.unsqueeze(-1)).squeeze(-1)
