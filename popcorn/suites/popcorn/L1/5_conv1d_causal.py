"""Causal depthwise convolution along time: every channel has a filter of its own and sees only the past.

x (B, C, T) → (B, C, T), out[b, c, t] = bias[c] + Σ_k weight[c, k] · x[b, c, t − W + 1 + k], zeros before the start.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "convolution"
DIFFERENTIABLE = True

B = Dim(8, low=6, high=10, cpu=4)
C = Dim(2048, low=1736, high=2304, align=8, cpu=256)
T = Dim(4096, low=3584, high=4480, cpu=1024)
W = Dim(4, fixed=True, cpu=4)


class Model(nn.Module):
    def __init__(self, channels: int, width: int):
        super().__init__()
        self.width = width
        self.conv = nn.Conv1d(channels, channels, width, groups=channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(functional.pad(x, (self.width - 1, 0)))


def get_inputs(B=B, C=C, T=T):
    return [torch.randn(B, C, T)]


def get_init_inputs(C=C, W=W):
    return [C, W]


def min_bytes(B=B, C=C, T=T, W=W, itemsize=4):
    return (2 * B * C * T + C * W + C) * itemsize


def flops(B=B, C=C, T=T, W=W):
    return 2 * B * C * T * W
