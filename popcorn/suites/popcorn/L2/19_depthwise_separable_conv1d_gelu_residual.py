"""Depthwise convolution, channel mixing, GELU, residual: x (B, C, T) → the same shape, width 9."""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "genomics"
DIFFERENTIABLE = True

B = Dim(16, low=11, high=21, cpu=4)
C = Dim(512, low=432, high=576, align=8, cpu=96)
T = Dim(4096, low=3461, high=4608, cpu=512)


class Model(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.each = nn.Conv1d(channels, channels, 9, padding=4, groups=channels)
        self.mix = nn.Conv1d(channels, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + functional.gelu(self.mix(self.each(x)))


def get_inputs(B=B, C=C, T=T):
    return [torch.randn(B, C, T)]


def get_init_inputs(C=C):
    return [C]


def min_bytes(B=B, C=C, T=T, itemsize=4):
    return (2 * B * C * T + 9 * C + C * C + 2 * C) * itemsize


def flops(B=B, C=C, T=T):
    return 2 * B * T * C * (9 + C)
