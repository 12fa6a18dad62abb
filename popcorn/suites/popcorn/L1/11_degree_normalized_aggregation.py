"""Aggregation of a graph convolution: neighbours weighted by both degrees, every node its own neighbour too.

row_ptr (N + 1) and col (E) int64, x (N, F) → out (N, F), out[i] = x[i] / d[i] + Σ_{e in row i} x[col[e]] / √(d[i] · d[col[e]]),
with d = row length + 1.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "graph"
DIFFERENTIABLE = True

N = Dim(131072, low=110756, high=147456, cpu=4096)
E = Dim(2097152, low=1772094, high=2359296, cpu=65536)
F = Dim(128, low=88, high=160, align=8, cpu=64)


class Model(nn.Module):
    def forward(self, row_ptr: torch.Tensor, col: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        lengths = row_ptr.diff()
        row = torch.repeat_interleave(torch.arange(lengths.numel(), device=x.device), lengths, output_size=col.numel())
        scale = (lengths + 1).to(x.dtype).rsqrt()[:, None]
        scaled = x * scale
        return scaled.index_add(0, row, scaled[col]) * scale


def get_inputs(N=N, E=E, F=F):
    row = torch.randint(0, N, (E,)).sort().values
    return [torch.searchsorted(row, torch.arange(N + 1)), torch.randint(0, N, (E,)), torch.randn(N, F)]


def get_init_inputs():
    return []


def min_bytes(N=N, E=E, F=F, itemsize=4):
    return 2 * N * F * itemsize + (N + 1 + E) * 8


def flops(N=N, E=E, F=F):
    return (E + 2 * N) * F
