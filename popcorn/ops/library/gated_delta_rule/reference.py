"""The gated delta rule in plain torch, one step after the other; keys are brought to length 1 first. Needs torch."""

import torch
from torch import Tensor


def gated_delta_rule(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor) -> Tensor:
    """q, k (B, H, T, K), v (B, H, T, J), g ≤ 0 and beta in [0, 1] (B, H, T) → (B, H, T, J)."""
    wide = torch.float64 if q.dtype == torch.float64 else torch.float32
    queries, keys, values, decay, strength = (t.to(wide) for t in (q * q.shape[-1] ** -0.5, k, v, g, beta))
    keys = keys * torch.rsqrt(keys.square().sum(-1, keepdim=True) + 1e-6)
    state = torch.zeros(*q.shape[:2], q.shape[-1], v.shape[-1], dtype=wide, device=q.device)
    made = []
    for t in range(q.shape[2]):
        key = keys[:, :, t, :, None]
        state = state * decay[:, :, t, None, None].exp()
        missing = (values[:, :, t] - (key * state).sum(-2)) * strength[:, :, t, None]
        state = state + key * missing[:, :, None, :]
        made.append((queries[:, :, t, None] @ state).squeeze(-2))
    return torch.stack(made, 2).to(q.dtype)
