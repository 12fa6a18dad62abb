"""Triangle multiplication, outgoing edges: z (B, N, N, C) → the same shape, out_ij = Σ_k a_ik b_jk for every channel.

Layer norm, gated projections a and b, product divided by √N, output projection, gate.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "protein"
DIFFERENTIABLE = True

B = Dim(1, fixed=True, cpu=1)
N = Dim(384, low=324, high=432, cpu=64)
C = Dim(128, low=96, high=192, align=32, cpu=64)


class Model(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        nn.init.normal_(self.norm.weight, 1.0, 0.2)
        nn.init.normal_(self.norm.bias, 0.0, 0.2)
        self.sides = nn.Linear(width, 2 * width, bias=False)
        self.gates = nn.Linear(width, 2 * width, bias=False)
        self.gate = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        z = self.norm(z)
        a, b = (self.sides(z) * torch.sigmoid(self.gates(z))).chunk(2, -1)
        mixed = torch.einsum("bikc,bjkc->bijc", a, b) / z.shape[1] ** 0.5
        return self.out(mixed) * torch.sigmoid(self.gate(z))


def get_inputs(B=B, N=N, C=C):
    return [torch.randn(B, N, N, C)]


def get_init_inputs(C=C):
    return [C]


def min_bytes(B=B, N=N, C=C, itemsize=4):
    return (2 * B * N * N * C + 6 * C * C + 2 * C) * itemsize


def flops(B=B, N=N, C=C):
    return 2 * B * N * N * 6 * C * C + 2 * B * N * N * N * C
