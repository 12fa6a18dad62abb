"""Graph attention in one pass: softmax of the edge scores of every row, then the weighted sum of the neighbours' values.

row_ptr (N + 1), col (E) int64, scores (E), v (N, F) → (N, F); 0 for a node without edges.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "graph"
DIFFERENTIABLE = True

N = Dim(65536, low=55377, high=73728, cpu=4096)
E = Dim(1048576, low=886046, high=1179648, cpu=32768)
F = Dim(128, low=112, high=152, align=8, cpu=32)


class Model(nn.Module):
    def forward(self, row_ptr: torch.Tensor, col: torch.Tensor, scores: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        lengths = row_ptr.diff()
        row = torch.repeat_interleave(torch.arange(lengths.numel(), device=v.device), lengths, output_size=col.numel())
        top = torch.full_like(lengths, -torch.inf, dtype=v.dtype).scatter_reduce(0, row, scores, "amax")
        weight = torch.exp(scores - top[row])
        total = torch.zeros_like(top).index_add(0, row, weight)
        return torch.zeros_like(v).index_add(0, row, v[col] * (weight / total[row])[:, None])


def get_inputs(N=N, E=E, F=F):
    row = torch.randint(0, N, (E,)).sort().values
    return [torch.searchsorted(row, torch.arange(N + 1)), torch.randint(0, N, (E,)), torch.randn(E), torch.randn(N, F)]


def get_init_inputs():
    return []


def min_bytes(N=N, E=E, F=F, itemsize=4):
    return (2 * N * F + E) * itemsize + 8 * (N + 1 + E)


def flops(E=E, F=F):
    return 2 * E * F + 5 * E
