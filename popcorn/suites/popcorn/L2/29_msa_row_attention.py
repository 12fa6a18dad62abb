"""Attention along every sequence of an alignment, biased by pairs: m (B, S, N, C), bias (B, H, N, N) → the shape of m.

Layer norm, H heads, gate, output projection.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "protein"
DIFFERENTIABLE = True

B = Dim(1, fixed=True, cpu=1)
S = Dim(128, low=108, high=144, cpu=16)
N = Dim(256, low=216, high=288, cpu=64)
C = Dim(128, low=96, high=192, align=32, cpu=64)
H = Dim(8, fixed=True, cpu=4)


class Model(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        nn.init.normal_(self.norm.weight, 1.0, 0.2)
        nn.init.normal_(self.norm.bias, 0.0, 0.2)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.gate = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, m: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        batch, rows, columns, width = m.shape
        m = self.norm(m)
        q, k, v = (part.view(batch, rows, columns, self.heads, -1).permute(0, 1, 3, 2, 4) for part in self.qkv(m).chunk(3, -1))
        weight = torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5 + bias[:, None], -1)
        mixed = (weight @ v).permute(0, 1, 3, 2, 4).reshape(batch, rows, columns, width)
        return self.out(mixed * torch.sigmoid(self.gate(m)))


def get_inputs(B=B, S=S, N=N, C=C, H=H):
    return [torch.randn(B, S, N, C), torch.randn(B, H, N, N)]


def get_init_inputs(C=C, H=H):
    return [C, H]


def min_bytes(B=B, S=S, N=N, C=C, H=H, itemsize=4):
    return (2 * B * S * N * C + B * H * N * N + 5 * C * C + 2 * C) * itemsize


def flops(B=B, S=S, N=N, C=C):
    return 10 * B * S * N * C * C + 4 * B * S * N * N * C
