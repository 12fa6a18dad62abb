"""Tokens gathered by expert in plain torch. Within an expert they stay in order. Needs torch."""

import torch
from torch import Tensor


def moe_dispatch(x: Tensor, index: Tensor, experts: int = 8) -> tuple[Tensor, Tensor, Tensor]:
    """x (N, D), index (N, A) of whole numbers in [0, experts) → ((N·A, D), (N·A) in [0, N·A), (experts)); slot n·A + a is choice a of token n."""
    flat = index.reshape(-1)
    order = torch.sort(flat, stable=True).indices
    return (
        x[order // index.shape[1]],
        order,
        torch.zeros(experts, dtype=torch.int64, device=x.device).scatter_add_(0, flat, torch.ones_like(flat)),
    )
