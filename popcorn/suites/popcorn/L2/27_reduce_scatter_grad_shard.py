"""Gradients summed over ranks, each rank keeping its own shard: x (ranks · B, D) on every rank → (B, D), rows r · B … of the sum on rank r."""

import torch
from torch import distributed as dist
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "communication"
DIFFERENTIABLE = False
RANKS = 2

B = Dim(4096, low=3456, high=4608, align=8, cpu=256)
D = Dim(4096, low=3456, high=4608, align=8, cpu=512)


class Model(nn.Module):
    def forward(self, x: torch.Tensor, group: dist.ProcessGroup) -> torch.Tensor:
        parts = [part.contiguous() for part in x.chunk(dist.get_world_size(group))]
        mine = torch.empty_like(parts[0])
        dist.reduce_scatter(mine, parts, group=group)
        return mine


def get_inputs(B=B, D=D, WORLD=2):
    return [torch.randn(WORLD * B, D)]


def get_init_inputs():
    return []


def min_bytes(B=B, D=D, WORLD=2, itemsize=4):
    return (WORLD + 1) * B * D * itemsize


def link_bytes(B=B, D=D, WORLD=2, itemsize=4):
    """Bytes that each rank must send."""
    return (WORLD - 1) * B * D * itemsize


def flops(B=B, D=D, WORLD=2):
    return WORLD * B * D
