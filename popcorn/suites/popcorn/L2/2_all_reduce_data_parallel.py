"""Gradients of data parallelism averaged over all ranks: x (B, D) on every rank → the mean over ranks, on every rank."""

import torch
from torch import distributed as dist
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "communication"
DIFFERENTIABLE = False
RANKS = 2

B = Dim(8192, low=6912, high=9216, align=8, cpu=512)
D = Dim(4096, low=3456, high=4608, align=8, cpu=512)


class Model(nn.Module):
    def forward(self, x: torch.Tensor, group: dist.ProcessGroup) -> torch.Tensor:
        total = x.clone()
        dist.all_reduce(total, group=group)
        return total / dist.get_world_size(group)


def get_inputs(B=B, D=D):
    return [torch.randn(B, D)]


def get_init_inputs():
    return []


def min_bytes(B=B, D=D, itemsize=4):
    return 2 * B * D * itemsize


def link_bytes(B=B, D=D, WORLD=2, itemsize=4):
    """Bytes that each rank must send: its part of the sums, then its sums."""
    return 2 * (WORLD - 1) * B * D // WORLD * itemsize


def flops(B=B, D=D, WORLD=2):
    return WORLD * B * D
