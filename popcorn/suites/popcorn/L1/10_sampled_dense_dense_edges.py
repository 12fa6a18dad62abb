"""Dot products of node features along the edges of a graph.

row, col (E) int64 in [0, N), q, k (N, F) → (E), out[e] = Σ_f q[row[e], f] · k[col[e], f] / √F.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "graph"
DIFFERENTIABLE = True

N = Dim(65536, low=55377, high=73728, cpu=4096)
E = Dim(1048576, low=886046, high=1179648, cpu=32768)
F = Dim(128, low=112, high=152, align=8, cpu=64)


class Model(nn.Module):
    def forward(self, row: torch.Tensor, col: torch.Tensor, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        return (q[row] * k[col]).sum(-1) / q.shape[-1] ** 0.5


def get_inputs(N=N, E=E, F=F):
    return [torch.randint(0, N, (E,)), torch.randint(0, N, (E,)), torch.randn(N, F), torch.randn(N, F)]


def get_init_inputs():
    return []


def min_bytes(N=N, E=E, F=F, itemsize=4):
    return (2 * N * F + E) * itemsize + 8 * (2 * E)


def flops(E=E, F=F):
    return 2 * E * F
