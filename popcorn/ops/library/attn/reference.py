"""Self-attention in plain torch: all scores stand in memory. Needs torch."""

import torch
from torch import Tensor


def attn(q: Tensor, k: Tensor, v: Tensor, causal: bool = True) -> Tensor:
    """q (B, H, T, K), k, v (B, G, T, K), G a divisor of H → (B, H, T, K). causal: a position sees itself and what stands before it."""
    group = q.shape[1] // k.shape[1]
    keys, values = (t.repeat_interleave(group, 1) for t in (k, v))
    scores = q @ keys.transpose(-1, -2) * q.shape[-1] ** -0.5
    if causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(later, float("-inf"))
    return torch.softmax(scores, -1) @ values
