"""Transposed convolution of volumes: x (B, CI, S, H, W), kernel 3 × 5 × 7."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "convolution"
DIFFERENTIABLE = True

B = Dim(8, fixed=True, cpu=1)
CI = Dim(32, fixed=True, cpu=8)
CO = Dim(16, fixed=True, cpu=8)
S = Dim(16, fixed=True, cpu=8)
H = Dim(32, fixed=True, cpu=16)
W = Dim(64, fixed=True, cpu=24)


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.ConvTranspose3d(in_channels, out_channels, (3, 5, 7), bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


def get_inputs(B=B, CI=CI, S=S, H=H, W=W):
    return [torch.randn(B, CI, S, H, W)]


def get_init_inputs(CI=CI, CO=CO):
    return [CI, CO]


def min_bytes(B=B, CI=CI, CO=CO, S=S, H=H, W=W, itemsize=4):
    return (B * CI * S * H * W + CI * CO * 105 + B * CO * (S + 2) * (H + 4) * (W + 6)) * itemsize


def flops(B=B, CI=CI, CO=CO, S=S, H=H, W=W):
    return 2 * B * S * H * W * CI * CO * 105
