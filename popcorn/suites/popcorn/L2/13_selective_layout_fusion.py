"""Tokens of several kinds brought into one order, each kind with a scale and shift of its own, then normed and projected.

x (B, T, D), order (T) int64 a permutation, kind (T) int64 in [0, K) → (B, T, D), out[t] from x[order[t]].
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "robotics"
DIFFERENTIABLE = True

B = Dim(16, low=11, high=21, cpu=4)
T = Dim(2048, low=1730, high=2304, cpu=256)
D = Dim(1024, low=872, high=1152, align=8, cpu=192)
K = Dim(4, fixed=True, cpu=4)


class Model(nn.Module):
    def __init__(self, width: int, kinds: int):
        super().__init__()
        self.scale = nn.Parameter(1 + 0.2 * torch.randn(kinds, width))
        self.shift = nn.Parameter(0.2 * torch.randn(kinds, width))
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, order: torch.Tensor, kind: torch.Tensor) -> torch.Tensor:
        x = x[:, order] * self.scale[kind] + self.shift[kind]
        x = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)
        return self.out(x)


def get_inputs(B=B, T=T, D=D, K=K):
    return [torch.randn(B, T, D), torch.randperm(T), torch.randint(0, K, (T,))]


def get_init_inputs(D=D, K=K):
    return [D, K]


def min_bytes(B=B, T=T, D=D, K=K, itemsize=4):
    return (2 * B * T * D + 2 * K * D + D * D + D) * itemsize + 8 * 2 * T


def flops(B=B, T=T, D=D):
    return 2 * B * T * D * D
