"""Mean feature of the points in every cell of a grid: cell (N) int64 in [0, G), x (N, F) → (G, F), 0 for an empty cell."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "geometry"
DIFFERENTIABLE = True

N = Dim(524288, low=443023, high=589824, cpu=16384)
G = Dim(32768, low=27688, high=36864, cpu=1024)
F = Dim(64, low=56, high=80, align=8, cpu=64)


class Model(nn.Module):
    def __init__(self, cells: int):
        super().__init__()
        self.cells = cells

    def forward(self, cell: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        count = x.new_zeros(self.cells).index_add(0, cell, torch.ones_like(x[:, 0]))
        return x.new_zeros(self.cells, x.shape[1]).index_add(0, cell, x) / count.clamp_min(1)[:, None]


def get_inputs(N=N, G=G, F=F):
    return [torch.randint(0, G, (N,)), torch.randn(N, F)]


def get_init_inputs(G=G):
    return [G]


def min_bytes(N=N, G=G, F=F, itemsize=4):
    return (N * F + G * F) * itemsize + 8 * N


def flops(N=N, G=G, F=F):
    return N * F + G * F
