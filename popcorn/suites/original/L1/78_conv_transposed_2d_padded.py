"""Transposed convolution of wide images: x (B, CI, H, W), kernel 3 × 7, padding 1 × 3."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "convolution"
DIFFERENTIABLE = True

B = Dim(8, fixed=True, cpu=2)
CI = Dim(32, fixed=True, cpu=16)
CO = Dim(32, fixed=True, cpu=16)
H = Dim(512, fixed=True, cpu=48)
W = Dim(256, fixed=True, cpu=80)


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.ConvTranspose2d(in_channels, out_channels, (3, 7), padding=(1, 3), bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


def get_inputs(B=B, CI=CI, H=H, W=W):
    return [torch.randn(B, CI, H, W)]


def get_init_inputs(CI=CI, CO=CO):
    return [CI, CO]


def min_bytes(B=B, CI=CI, CO=CO, H=H, W=W, itemsize=4):
    return (B * CI * H * W + CI * CO * 21 + B * CO * H * W) * itemsize


def flops(B=B, CI=CI, CO=CO, H=H, W=W):
    return 2 * B * H * W * CI * CO * 21
