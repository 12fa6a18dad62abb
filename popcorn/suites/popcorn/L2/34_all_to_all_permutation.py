"""Blocks exchanged between all ranks: x (ranks, B, D) → (ranks, B, D), whose r-th block is the one that rank r held for this rank."""

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
        got = torch.empty_like(x)
        dist.all_to_all_single(got, x.contiguous(), group=group)
        return got


def get_inputs(B=B, D=D, WORLD=2):
    return [torch.randn(WORLD, B, D)]


def get_init_inputs():
    return []


def min_bytes(B=B, D=D, WORLD=2, itemsize=4):
    return 2 * WORLD * B * D * itemsize


def link_bytes(B=B, D=D, WORLD=2, itemsize=4):
    """Bytes that each rank must send."""
    return (WORLD - 1) * B * D * itemsize


def flops(B=B, D=D, WORLD=2):
    """Nothing is computed: elements that move."""
    return WORLD * B * D
