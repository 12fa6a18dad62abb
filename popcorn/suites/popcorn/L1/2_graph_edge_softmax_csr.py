"""Softmax over the edges of every row of a graph in CSR form.

row_ptr (N + 1) int64, scores (E) → (E), each row's edges sum to one; a row may be empty.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "graph"
DIFFERENTIABLE = True
NOTES = "Rows differ in length from call to call, and some are empty."

N = Dim(262144, low=221511, high=294912, cpu=8192)
E = Dim(8388608, low=7088373, high=9437184, cpu=131072)


class Model(nn.Module):
    def forward(self, row_ptr: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        lengths = row_ptr.diff()
        row = torch.repeat_interleave(torch.arange(lengths.numel(), device=scores.device), lengths, output_size=scores.numel())
        top = torch.full_like(lengths, -torch.inf, dtype=scores.dtype).scatter_reduce(0, row, scores, "amax")
        weight = torch.exp(scores - top[row])
        total = torch.zeros_like(top).index_add(0, row, weight)
        return weight / total[row]


def get_inputs(N=N, E=E):
    row = torch.randint(0, N, (E,)).sort().values
    return [torch.searchsorted(row, torch.arange(N + 1)), torch.randn(E)]


def get_init_inputs():
    return []


def min_bytes(N=N, E=E, itemsize=4):
    return 2 * E * itemsize + 8 * (N + 1)


def flops(E=E):
    return 5 * E
