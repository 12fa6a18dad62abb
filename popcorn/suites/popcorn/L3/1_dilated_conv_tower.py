"""A tower of genomic models: L residual blocks whose dilation doubles: x (B, C, T) → the same shape.

Block i: x + W gelu(conv(gelu(scale · x + shift))), the convolution of width 3 and dilation 2^i, then one of width 1.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "genomics"
DIFFERENTIABLE = True

B = Dim(4, low=2, high=5, cpu=1)
C = Dim(256, low=216, high=288, align=8, cpu=48)
T = Dim(8192, low=6922, high=9216, cpu=512)
L = Dim(8, fixed=True, cpu=4)


class Model(nn.Module):
    def __init__(self, channels: int, depth: int):
        super().__init__()
        self.scale = nn.Parameter(1 + 0.2 * torch.randn(depth, channels))
        self.shift = nn.Parameter(0.2 * torch.randn(depth, channels))
        self.convs = nn.ModuleList(nn.Conv1d(channels, channels, 3, padding=2**index, dilation=2**index) for index in range(depth))
        self.mixes = nn.ModuleList(nn.Conv1d(channels, channels, 1) for _ in range(depth))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for scale, shift, conv, mix in zip(self.scale, self.shift, self.convs, self.mixes, strict=True):
            hidden = conv(functional.gelu(x * scale[:, None] + shift[:, None]))
            x = x + mix(functional.gelu(hidden))
        return x


def get_inputs(B=B, C=C, T=T):
    return [torch.randn(B, C, T)]


def get_init_inputs(C=C, L=L):
    return [C, L]


def min_bytes(B=B, C=C, T=T, L=L, itemsize=4):
    return (2 * B * C * T + L * (4 * C * C + 4 * C)) * itemsize


def flops(B=B, C=C, T=T, L=L):
    return 2 * B * T * L * 4 * C * C
