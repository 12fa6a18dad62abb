"""Messages of edges summed at the nodes they point to: target (E) int64 in [0, N), messages (E, F) → (N, F)."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "graph"
DIFFERENTIABLE = True

N = Dim(131072, low=110755, high=147456, cpu=4096)
E = Dim(1048576, low=886046, high=1179648, cpu=32768)
F = Dim(64, low=56, high=80, align=8, cpu=64)


class Model(nn.Module):
    def __init__(self, nodes: int):
        super().__init__()
        self.nodes = nodes

    def forward(self, target: torch.Tensor, messages: torch.Tensor) -> torch.Tensor:
        return messages.new_zeros(self.nodes, messages.shape[1]).index_add(0, target, messages)


def get_inputs(N=N, E=E, F=F):
    return [torch.randint(0, N, (E,)), torch.randn(E, F)]


def get_init_inputs(N=N):
    return [N]


def min_bytes(N=N, E=E, F=F, itemsize=4):
    return (E * F + N * F) * itemsize + 8 * E


def flops(E=E, F=F):
    return E * F
