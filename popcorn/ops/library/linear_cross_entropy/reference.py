"""The last layer and its loss in plain torch: all logits stand in memory. Needs torch."""

import torch
from torch import Tensor


def linear_cross_entropy(x: Tensor, weight: Tensor, target: Tensor) -> Tensor:
    """x (…, D), weight (V, D), target (…) in [0, V), or −100 to leave a row out → the mean over rows, a scalar."""
    logits = torch.nn.functional.linear(x, weight)
    return torch.nn.functional.cross_entropy(logits.reshape(-1, weight.shape[0]), target.reshape(-1))
