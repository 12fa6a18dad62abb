"""Self-attention within packed sequences in plain torch: all scores of all rows stand in memory. Needs torch."""

import torch
from torch import Tensor


def attn_varlen(q: Tensor, k: Tensor, v: Tensor, edges: Tensor, causal: bool = True) -> Tensor:
    """q (N, H, K), k, v (N, G, K), edges (E) from 0 to N, not falling → (N, H, K)."""
    row = torch.arange(q.shape[0], device=q.device)
    owner = torch.searchsorted(edges.contiguous(), row, right=True)
    seen = owner[:, None] == owner[None, :]
    if causal:
        seen = seen & (row[:, None] >= row[None, :])
    group = q.shape[1] // k.shape[1]
    keys, values = (t.repeat_interleave(group, 1).transpose(0, 1) for t in (k, v))
    scores = q.transpose(0, 1) @ keys.transpose(-1, -2) * q.shape[-1] ** -0.5
    return (torch.softmax(scores.masked_fill(~seen, float("-inf")), -1) @ values).transpose(0, 1).contiguous()
