"""One step of decoding against a paged cache in plain torch: the pages of each sequence are gathered first. Needs torch."""

import torch
from torch import Tensor


def attn_decode(q: Tensor, keys: Tensor, values: Tensor, table: Tensor, lengths: Tensor) -> Tensor:
    """q (B, H, K), keys, values (P, L, G, K), table (B, M) of page numbers, lengths (B) from 1 to M·L in tokens → (B, H, K)."""
    group = q.shape[1] // keys.shape[2]
    mine = [t[table].flatten(1, 2).repeat_interleave(group, 2).transpose(1, 2) for t in (keys, values)]
    scores = (mine[0] @ q.unsqueeze(-1)).squeeze(-1) * q.shape[-1] ** -0.5
    beyond = torch.arange(scores.shape[-1], device=q.device) >= lengths[:, None]
    weights = torch.softmax(scores.masked_fill(beyond[:, None], float("-inf")), -1)
    return (weights.unsqueeze(-2) @ mine[1]).squeeze(-2)
