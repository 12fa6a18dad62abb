"""A matrix the other way round, in memory of its own: x (R, C) → (C, R)."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "linear algebra"
R = Dim(320, low=256, high=384)
C = Dim(480, low=384, high=512)


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.transpose(-1, -2).contiguous()


def get_inputs(R=R, C=C):
    return [torch.randn(R, C)]


def get_init_inputs():
    return []


def min_bytes(R=R, C=C, itemsize=4):
    return 2 * R * C * itemsize


def flops(R=R, C=C):
    return 0
