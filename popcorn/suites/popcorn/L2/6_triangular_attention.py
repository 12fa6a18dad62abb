"""Triangle attention around starting nodes: every row of a pair map attends to itself, biased by the third edge.

z (B, N, N, C) → the same shape; layer norm, H heads, bias from z itself, gate, output projection.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "protein"
DIFFERENTIABLE = True

B = Dim(1, fixed=True, cpu=1)
N = Dim(256, low=216, high=288, cpu=48)
C = Dim(128, low=96, high=192, align=32, cpu=64)
H = Dim(4, fixed=True, cpu=4)


class Model(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        nn.init.normal_(self.norm.weight, 1.0, 0.2)
        nn.init.normal_(self.norm.bias, 0.0, 0.2)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.bias = nn.Linear(width, heads, bias=False)
        self.gate = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        batch, rows, columns, width = z.shape
        z = self.norm(z)
        q, k, v = (part.view(batch, rows, columns, self.heads, -1).transpose(2, 3) for part in self.qkv(z).chunk(3, -1))
        bias = self.bias(z).permute(0, 3, 1, 2)[:, None]
        weight = torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5 + bias, -1)
        mixed = (weight @ v).transpose(2, 3).reshape(batch, rows, columns, width)
        return self.out(mixed * torch.sigmoid(self.gate(z)))


def get_inputs(B=B, N=N, C=C):
    return [torch.randn(B, N, N, C)]


def get_init_inputs(C=C, H=H):
    return [C, H]


def min_bytes(B=B, N=N, C=C, H=H, itemsize=4):
    return (2 * B * N * N * C + 5 * C * C + C * H + 2 * C) * itemsize


def flops(B=B, N=N, C=C, H=H):
    return 2 * B * N * N * (5 * C * C + C * H) + 4 * B * N * N * N * C
