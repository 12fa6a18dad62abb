"""The choice of experts in plain torch. Equal logits: the lower index first. Needs torch."""

import torch
from torch import Tensor


def top_k_router(logits: Tensor, k: int = 2) -> tuple[Tensor, Tensor]:
    """logits (…, E), 1 ≤ k ≤ E → weights (…, k) that sum to 1, experts (…, k) as int64."""
    ordered, index = torch.sort(logits, dim=-1, descending=True, stable=True)
    return torch.softmax(ordered[..., :k], -1), index[..., :k].contiguous()
