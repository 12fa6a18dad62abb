"""Stable log-sum-exp over virtual ranks: the leading dimension of x plays the ranks.

x (R, B, D) → out (B, D), out = log Σ_r exp(x[r]), without overflow for large x.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "distributed"
DIFFERENTIABLE = True

R = Dim(4, low=2, high=8, cpu=4)
B = Dim(16384, low=13312, high=18432, align=8, cpu=1024)
D = Dim(2048, low=1792, high=2240, align=8, cpu=512)


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.logsumexp(x, dim=0)


def get_inputs(R=R, B=B, D=D):
    return [torch.randn(R, B, D)]


def get_init_inputs():
    return []


def min_bytes(R=R, B=B, D=D, itemsize=4):
    return (R + 1) * B * D * itemsize


def flops(R=R, B=B, D=D):
    return 4 * R * B * D
