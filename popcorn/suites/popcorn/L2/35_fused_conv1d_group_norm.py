"""Convolution, then group norm of 16 channels each: x (B, C, T) → (B, CO, T), width 7."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "genomics"
DIFFERENTIABLE = True

B = Dim(16, low=11, high=21, cpu=4)
C = Dim(128, low=112, high=152, align=8, cpu=32)
CO = Dim(256, low=224, high=304, align=16, cpu=64)
T = Dim(4096, low=3461, high=4608, cpu=512)


class Model(nn.Module):
    def __init__(self, channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.Conv1d(channels, out_channels, 7, padding=3)
        self.norm = nn.GroupNorm(out_channels // 16, out_channels)
        nn.init.normal_(self.norm.weight, 1.0, 0.2)
        nn.init.normal_(self.norm.bias, 0.0, 0.2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.conv(x))


def get_inputs(B=B, C=C, T=T):
    return [torch.randn(B, C, T)]


def get_init_inputs(C=C, CO=CO):
    return [C, CO]


def min_bytes(B=B, C=C, CO=CO, T=T, itemsize=4):
    return (B * C * T + 7 * C * CO + 3 * CO + B * CO * T) * itemsize


def flops(B=B, C=C, CO=CO, T=T):
    return 14 * B * T * C * CO
