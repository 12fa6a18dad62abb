"""Softmax over the incoming edges of every node, for several heads at once (graph attention).

row_ptr (N + 1) int64, scores (E, H) → (E, H): within row i and head h, exp(s − max) / Σ exp(s − max). Rows may be empty.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "graph"
DIFFERENTIABLE = True

N = Dim(262144, low=221512, high=294912, cpu=4096)
E = Dim(6291456, low=5242880, high=6815744, cpu=49152)
H = Dim(8, low=4, high=12, cpu=8)


class Model(nn.Module):
    def forward(self, row_ptr: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        nodes, edges = row_ptr.numel() - 1, scores.shape[0]
        row = torch.repeat_interleave(torch.arange(nodes, device=scores.device), row_ptr.diff(), output_size=edges)
        index = row[:, None].expand_as(scores)
        lowest = scores.new_full((nodes, scores.shape[1]), float("-inf"))
        # a constant shift changes neither the result nor its gradient
        largest = lowest.scatter_reduce(0, index, scores.detach(), "amax")
        weights = torch.exp(scores - largest[row])
        total = torch.zeros_like(lowest).index_add(0, row, weights)
        return weights / total[row]


def get_inputs(N=N, E=E, H=H):
    row = torch.randint(0, N, (E,)).sort().values
    return [torch.searchsorted(row, torch.arange(N + 1)), torch.randn(E, H)]


def get_init_inputs():
    return []


def min_bytes(N=N, E=E, H=H, itemsize=4):
    return 2 * E * H * itemsize + (N + 1) * 8


def flops(N=N, E=E, H=H):
    return 5 * E * H
