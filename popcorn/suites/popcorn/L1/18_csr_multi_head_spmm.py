"""Weighted sums over neighbours, each head with weights of its own.

row_ptr (N + 1), col (E) int64, weight (E, H), x (N, H, F) → (N, H, F).
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "graph"
DIFFERENTIABLE = True

N = Dim(65536, low=55377, high=73728, cpu=4096)
E = Dim(524288, low=443023, high=589824, cpu=16384)
H = Dim(8, fixed=True, cpu=4)
F = Dim(32, low=16, high=48, align=8, cpu=16)


class Model(nn.Module):
    def forward(self, row_ptr: torch.Tensor, col: torch.Tensor, weight: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        lengths = row_ptr.diff()
        row = torch.repeat_interleave(torch.arange(lengths.numel(), device=x.device), lengths, output_size=col.numel())
        return torch.zeros_like(x).index_add(0, row, x[col] * weight[..., None])


def get_inputs(N=N, E=E, H=H, F=F):
    row = torch.randint(0, N, (E,)).sort().values
    return [torch.searchsorted(row, torch.arange(N + 1)), torch.randint(0, N, (E,)), torch.randn(E, H), torch.randn(N, H, F)]


def get_init_inputs():
    return []


def min_bytes(N=N, E=E, H=H, F=F, itemsize=4):
    return (2 * N * H * F + E * H) * itemsize + 8 * (N + 1 + E)


def flops(E=E, H=H, F=F):
    return 2 * E * H * F
