"""The K largest scores of every row of a graph in CSR form.

row_ptr (N + 1) int64, scores (E) → (N, K) in falling order, 0 where a row has fewer edges.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "graph"
DIFFERENTIABLE = True

N = Dim(262144, low=221511, high=294912, cpu=4096)
E = Dim(8388608, low=7088373, high=9437184, cpu=131072)
K = Dim(8, fixed=True, cpu=8)


class Model(nn.Module):
    def __init__(self, k: int):
        super().__init__()
        self.k = k

    def forward(self, row_ptr: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        lengths = row_ptr.diff()
        row = torch.repeat_interleave(torch.arange(lengths.numel(), device=scores.device), lengths, output_size=scores.numel())
        order = scores.argsort(descending=True, stable=True)
        order = order[row[order].argsort(stable=True)]
        place = torch.arange(scores.numel(), device=scores.device) - row_ptr[row]
        kept = place < self.k
        out = scores.new_zeros(lengths.numel(), self.k)
        return out.index_put((row[kept], place[kept]), scores[order][kept])


def get_inputs(N=N, E=E):
    row = torch.randint(0, N, (E,)).sort().values
    return [torch.searchsorted(row, torch.arange(N + 1)), torch.randn(E)]


def get_init_inputs(K=K):
    return [K]


def min_bytes(N=N, E=E, K=K, itemsize=4):
    return (E + N * K) * itemsize + 8 * (N + 1)


def flops(E=E):
    return E
