"""A reduced Evoformer block: aligned sequences and pairs inform each other.

m (B, S, N, C), z (B, N, N, C) → both: attention along each sequence biased by z, MLP; mean outer product into z, triangle multiplication,
MLP.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "protein"
DIFFERENTIABLE = True

B = Dim(1, fixed=True, cpu=1)
S = Dim(64, low=54, high=72, cpu=12)
N = Dim(128, low=108, high=144, cpu=32)
C = Dim(128, low=96, high=192, align=32, cpu=32)
H = Dim(4, fixed=True, cpu=4)


class Model(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(6))
        for norm in self.norms:
            nn.init.normal_(norm.weight, 1.0, 0.2)
            nn.init.normal_(norm.bias, 0.0, 0.2)
        self.qkv, self.bias = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, heads, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.m_up, self.m_down = nn.Linear(width, 2 * width, bias=False), nn.Linear(2 * width, width, bias=False)
        self.sides, self.outer = nn.Linear(width, 32, bias=False), nn.Linear(256, width, bias=False)
        self.edges, self.gates = nn.Linear(width, 2 * width, bias=False), nn.Linear(width, 2 * width, bias=False)
        self.triangle = nn.Linear(width, width, bias=False)
        self.z_up, self.z_down = nn.Linear(width, 2 * width, bias=False), nn.Linear(2 * width, width, bias=False)

    def forward(self, m: torch.Tensor, z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(2, 3) for part in self.qkv(self.norms[0](m)).chunk(3, -1))
        bias = self.bias(self.norms[1](z)).permute(0, 3, 1, 2)[:, None]
        weight = torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5 + bias, -1)
        m = m + self.out((weight @ v).transpose(2, 3).flatten(-2))
        m = m + self.m_down(torch.relu(self.m_up(self.norms[2](m))))
        a, b = self.sides(self.norms[3](m)).chunk(2, -1)
        z = z + self.outer(torch.einsum("bsic,bsjd->bijcd", a, b).flatten(-2) / m.shape[1])
        a, b = (self.edges(self.norms[4](z)) * torch.sigmoid(self.gates(z))).chunk(2, -1)
        z = z + self.triangle(torch.einsum("bikc,bjkc->bijc", a, b) / z.shape[1] ** 0.5)
        return m, z + self.z_down(torch.relu(self.z_up(self.norms[5](z))))


def get_inputs(B=B, S=S, N=N, C=C):
    return [torch.randn(B, S, N, C), torch.randn(B, N, N, C)]


def get_init_inputs(C=C, H=H):
    return [C, H]


def min_bytes(B=B, S=S, N=N, C=C, H=H, itemsize=4):
    return (2 * B * S * N * C + 2 * B * N * N * C + 17 * C * C + C * H + 32 * C + 256 * C + 12 * C) * itemsize


def flops(B=B, S=S, N=N, C=C, H=H):
    rows, pairs = B * S * N, B * N * N
    along = rows * (8 * C * C + 32 * C + 8 * C * C) + 4 * rows * N * C + 2 * pairs * C * H
    return 2 * pairs * (256 * S + 256 * C + 5 * C * C + N * C + 4 * C * C) + along
