"""Mean outer product over aligned sequences: m (B, S, N, C) → (B, N, N, CZ).

Layer norm, two projections to E channels, mean over S of all E × E products for every pair of columns, then a linear layer.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "protein"
DIFFERENTIABLE = True

B = Dim(1, fixed=True, cpu=1)
S = Dim(256, low=216, high=288, cpu=32)
N = Dim(192, low=162, high=216, cpu=32)
C = Dim(64, low=56, high=80, align=8, cpu=32)
E = Dim(32, fixed=True, cpu=8)
CZ = Dim(128, low=112, high=152, align=8, cpu=32)


class Model(nn.Module):
    def __init__(self, channels: int, hidden: int, pair_channels: int):
        super().__init__()
        self.norm = nn.LayerNorm(channels)
        nn.init.normal_(self.norm.weight, 1.0, 0.2)
        nn.init.normal_(self.norm.bias, 0.0, 0.2)
        self.sides = nn.Linear(channels, 2 * hidden, bias=False)
        self.out = nn.Linear(hidden * hidden, pair_channels)

    def forward(self, m: torch.Tensor) -> torch.Tensor:
        a, b = self.sides(self.norm(m)).chunk(2, -1)
        pairs = torch.einsum("bsic,bsjd->bijcd", a, b) / m.shape[1] ** 0.5
        return self.out(pairs.flatten(-2))


def get_inputs(B=B, S=S, N=N, C=C):
    return [torch.randn(B, S, N, C)]


def get_init_inputs(C=C, E=E, CZ=CZ):
    return [C, E, CZ]


def min_bytes(B=B, S=S, N=N, C=C, E=E, CZ=CZ, itemsize=4):
    return (B * S * N * C + 2 * C + 2 * C * E + E * E * CZ + CZ + B * N * N * CZ) * itemsize


def flops(B=B, S=S, N=N, C=C, E=E, CZ=CZ):
    return 4 * B * S * N * C * E + 2 * B * N * N * E * E * (S + CZ)
