"""Weighted message passing: a sparse matrix in CSR form times dense node features.

row_ptr (N + 1) and col (E) int64, weight (E), x (N, F) → out (N, F), out[i] = Σ_{e in row i} weight[e] · x[col[e]].
Rows may be empty.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "graph"
DIFFERENTIABLE = True

N = Dim(131072, low=110756, high=147456, cpu=4096)
E = Dim(2097152, low=1772094, high=2359296, cpu=32768)
F = Dim(128, low=88, high=160, align=8, cpu=64)


class Model(nn.Module):
    def forward(self, row_ptr: torch.Tensor, col: torch.Tensor, weight: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        nodes = torch.arange(row_ptr.numel() - 1, device=x.device)
        row = torch.repeat_interleave(nodes, row_ptr.diff(), output_size=col.numel())
        messages = weight[:, None] * x[col]
        return torch.zeros_like(x).index_add(0, row, messages)


def get_inputs(N=N, E=E, F=F):
    row = torch.randint(0, N, (E,)).sort().values
    row_ptr = torch.searchsorted(row, torch.arange(N + 1))
    return [row_ptr, torch.randint(0, N, (E,)), torch.randn(E), torch.randn(N, F)]


def get_init_inputs():
    return []


def min_bytes(N=N, E=E, F=F, itemsize=4):
    return (2 * N * F + E) * itemsize + (N + 1 + E) * 8


def flops(N=N, E=E, F=F):
    return 2 * E * F
