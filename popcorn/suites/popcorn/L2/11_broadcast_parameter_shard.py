"""A weight that rank 0 holds, sent to all, then a linear layer: x (B, D), weight (K, D) → x · weight₀ᵀ, (B, K).

Every rank is given a weight; only rank 0's counts.
"""

import torch
from torch import distributed as dist
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "communication"
DIFFERENTIABLE = False
RANKS = 2

B = Dim(4096, low=3456, high=4608, align=8, cpu=256)
D = Dim(4096, low=3456, high=4608, align=8, cpu=384)
K = Dim(4096, low=3456, high=4608, align=8, cpu=256)


class Model(nn.Module):
    def forward(self, x: torch.Tensor, weight: torch.Tensor, group: dist.ProcessGroup) -> torch.Tensor:
        shared = weight.clone()
        dist.broadcast(shared, src=0, group=group)
        return x @ shared.T


def get_inputs(B=B, D=D, K=K):
    return [torch.randn(B, D), torch.randn(K, D)]


def get_init_inputs():
    return []


def min_bytes(B=B, D=D, K=K, itemsize=4):
    return (B * D + K * D + B * K) * itemsize


def link_bytes(D=D, K=K, itemsize=4):
    """Bytes that rank 0 must send at least, and every other rank receive."""
    return K * D * itemsize


def flops(B=B, D=D, K=K):
    return 2 * B * D * K
