"""Every channel of a sequence convolved alone: x (B, C, T) → the same shape, width 7, zeros beyond both ends."""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "genomics"
DIFFERENTIABLE = True
NONCONTIGUOUS = True

B = Dim(16, low=11, high=21, cpu=4)
C = Dim(512, low=432, high=576, align=8, cpu=64)
T = Dim(4096, low=3461, high=4608, cpu=1024)


class Model(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(channels, 1, 7) / 7**0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.conv1d(x, self.weight, padding=3, groups=self.weight.shape[0])


def get_inputs(B=B, C=C, T=T):
    return [torch.randn(B, C, T)]


def get_init_inputs(C=C):
    return [C]


def min_bytes(B=B, C=C, T=T, itemsize=4):
    return (2 * B * C * T + 7 * C) * itemsize


def flops(B=B, C=C, T=T):
    return 14 * B * C * T
