"""Largest feature among the neighbours of every node: row_ptr (N + 1), col (E) int64, x (N, F) → (N, F), 0 for a node without any."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "graph"
DIFFERENTIABLE = True
NOTES = "Where several neighbours hold the maximum, its gradient is shared evenly."

N = Dim(65536, low=55377, high=73728, cpu=4096)
E = Dim(1048576, low=886046, high=1179648, cpu=32768)
F = Dim(128, low=112, high=152, align=8, cpu=64)


class Model(nn.Module):
    def forward(self, row_ptr: torch.Tensor, col: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        lengths = row_ptr.diff()
        row = torch.repeat_interleave(torch.arange(lengths.numel(), device=x.device), lengths, output_size=col.numel())
        index = row[:, None].expand(-1, x.shape[1])
        return torch.zeros_like(x).scatter_reduce(0, index, x[col], "amax", include_self=False)


def get_inputs(N=N, E=E, F=F):
    row = torch.randint(0, N, (E,)).sort().values
    return [torch.searchsorted(row, torch.arange(N + 1)), torch.randint(0, N, (E,)), torch.randn(N, F)]


def get_init_inputs():
    return []


def min_bytes(N=N, E=E, F=F, itemsize=4):
    return 2 * N * F * itemsize + 8 * (N + 1 + E)


def flops(E=E, F=F):
    return E * F
