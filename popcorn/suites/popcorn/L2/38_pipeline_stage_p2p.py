"""A pipeline of as many stages as ranks: micro-batches go from rank to rank, each applying its own layer.

x (M, B, D) on every rank, of which rank 0's counts → what this rank's stage computed, (M, B, D): gelu(input · weightᵀ + bias), the input being
x on rank 0 and the output of the rank before on all others. Stage r's weight is the r-th of a stack that every rank draws alike.
"""

import torch
from torch import distributed as dist
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "communication"
DIFFERENTIABLE = False
RANKS = 2

M = Dim(8, low=6, high=10, cpu=4)
B = Dim(1024, low=872, high=1152, align=8, cpu=128)
D = Dim(4096, low=3456, high=4608, align=8, cpu=256)


class Model(nn.Module):
    def __init__(self, world: int, width: int):
        super().__init__()
        self.weight = nn.Parameter(2 * torch.randn(world, width, width) / width**0.5)
        self.bias = nn.Parameter(0.1 * torch.randn(world, width))

    def forward(self, x: torch.Tensor, group: dist.ProcessGroup) -> torch.Tensor:
        rank, last, out = dist.get_rank(group), dist.get_world_size(group) - 1, torch.empty_like(x)
        for index, given in enumerate(x):
            if rank > 0:
                given = torch.empty_like(given)
                dist.recv(given, rank - 1, group=group)
            out[index] = functional.gelu(functional.linear(given, self.weight[rank], self.bias[rank]))
            if rank < last:
                dist.send(out[index], rank + 1, group=group)
        return out


def get_inputs(M=M, B=B, D=D):
    return [torch.randn(M, B, D)]


def get_init_inputs(WORLD=2, D=D):
    return [WORLD, D]


BYTES_WHY = "A rank reads the weight of its own stage, not the whole stack."


def min_bytes(M=M, B=B, D=D, itemsize=4):
    return (2 * M * B * D + D * D + D) * itemsize


def link_bytes(M=M, B=B, D=D, itemsize=4):
    """Bytes that every rank but the last must send."""
    return M * B * D * itemsize


def flops(M=M, B=B, D=D):
    return 2 * M * B * D * D
