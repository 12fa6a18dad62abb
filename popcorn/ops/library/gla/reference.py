"""Gated linear attention in plain torch, one step after the other. Needs torch."""

import torch
from torch import Tensor


def gla(q: Tensor, k: Tensor, v: Tensor, g: Tensor) -> Tensor:
    """q, k (B, H, T, K), v (B, H, T, J), g ≤ 0 (B, H, T, K), the log of the decay → (B, H, T, J)."""
    wide = torch.float64 if q.dtype == torch.float64 else torch.float32
    queries, keys, values, decay = (t.to(wide) for t in (q * q.shape[-1] ** -0.5, k, v, g.exp()))
    state = torch.zeros(*q.shape[:2], q.shape[-1], v.shape[-1], dtype=wide, device=q.device)
    made = []
    for t in range(q.shape[2]):
        state = state * decay[:, :, t, :, None] + keys[:, :, t, :, None] * values[:, :, t, None, :]
        made.append((queries[:, :, t, None] @ state).squeeze(-2))
    return torch.stack(made, 2).to(q.dtype)
