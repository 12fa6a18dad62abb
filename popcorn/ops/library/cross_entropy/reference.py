"""Cross entropy of whole-number targets in plain torch. Needs torch."""

import torch
from torch import Tensor


def cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """logits (…, V), target (…) in [0, V), or −100 to leave a row out → the mean over rows, a scalar."""
    return torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), target.reshape(-1))
