"""Convolution with gaps in a wide kernel: x (B, CI, H, H), kernel 5 × 9, dilation 2 × 3, padding 2 × 4."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "convolution"
DIFFERENTIABLE = True

B = Dim(8, fixed=True, cpu=2)
CI = Dim(32, fixed=True, cpu=8)
CO = Dim(64, fixed=True, cpu=16)
H = Dim(256, fixed=True, cpu=64)


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, (5, 9), padding=(2, 4), dilation=(2, 3), bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


def get_inputs(B=B, CI=CI, H=H):
    return [torch.randn(B, CI, H, H)]


def get_init_inputs(CI=CI, CO=CO):
    return [CI, CO]


def min_bytes(B=B, CI=CI, CO=CO, H=H, itemsize=4):
    return (B * CI * H * H + CI * CO * 45 + B * CO * (H - 4) * (H - 16)) * itemsize


def flops(B=B, CI=CI, CO=CO, H=H):
    return 2 * B * (H - 4) * (H - 16) * CI * CO * 45
