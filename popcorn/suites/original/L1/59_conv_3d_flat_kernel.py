"""Convolution of stacks of images, each slice alone: x (B, CI, H, W, S), kernel 3 × 3 × 1."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "convolution"
DIFFERENTIABLE = True

B = Dim(8, fixed=True, cpu=1)
CI = Dim(16, fixed=True, cpu=8)
CO = Dim(64, fixed=True, cpu=16)
H = Dim(128, fixed=True, cpu=32)
W = Dim(128, fixed=True, cpu=32)
S = Dim(10, fixed=True, cpu=10)


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, (3, 3, 1), bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


def get_inputs(B=B, CI=CI, H=H, W=W, S=S):
    return [torch.randn(B, CI, H, W, S)]


def get_init_inputs(CI=CI, CO=CO):
    return [CI, CO]


def min_bytes(B=B, CI=CI, CO=CO, H=H, W=W, S=S, itemsize=4):
    return (B * CI * H * W * S + CI * CO * 9 + B * CO * (H - 2) * (W - 2) * S) * itemsize


def flops(B=B, CI=CI, CO=CO, H=H, W=W, S=S):
    return 2 * B * (H - 2) * (W - 2) * S * CI * CO * 9
