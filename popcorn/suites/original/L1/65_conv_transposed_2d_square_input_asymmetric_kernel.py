"""Transposed convolution with a wide kernel: x (B, CI, H, H), kernel 3 × 7."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "convolution"
DIFFERENTIABLE = True

B = Dim(16, fixed=True, cpu=2)
CI = Dim(64, fixed=True, cpu=16)
CO = Dim(64, fixed=True, cpu=16)
H = Dim(192, fixed=True, cpu=56)


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.ConvTranspose2d(in_channels, out_channels, (3, 7), bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


def get_inputs(B=B, CI=CI, H=H):
    return [torch.randn(B, CI, H, H)]


def get_init_inputs(CI=CI, CO=CO):
    return [CI, CO]


def min_bytes(B=B, CI=CI, CO=CO, H=H, itemsize=4):
    return (B * CI * H * H + CI * CO * 21 + B * CO * (H + 2) * (H + 6)) * itemsize


def flops(B=B, CI=CI, CO=CO, H=H):
    return 2 * B * H * H * CI * CO * 21
