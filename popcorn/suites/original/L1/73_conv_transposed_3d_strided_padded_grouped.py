"""Transposed convolution in groups: x (B, CI, S, H, W), kernel 3, stride 2, padding 1, 4 groups."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "convolution"
DIFFERENTIABLE = True

B = Dim(4, fixed=True, cpu=1)
CI = Dim(32, fixed=True, cpu=8)
CO = Dim(32, fixed=True, cpu=16)
S = Dim(32, fixed=True, cpu=10)
H = Dim(64, fixed=True, cpu=20)
W = Dim(64, fixed=True, cpu=20)


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.ConvTranspose3d(in_channels, out_channels, 3, stride=2, padding=1, groups=4, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


def get_inputs(B=B, CI=CI, S=S, H=H, W=W):
    return [torch.randn(B, CI, S, H, W)]


def get_init_inputs(CI=CI, CO=CO):
    return [CI, CO]


def min_bytes(B=B, CI=CI, CO=CO, S=S, H=H, W=W, itemsize=4):
    return (B * CI * S * H * W + CI * CO // 4 * 27 + B * CO * (S * 2 - 1) * (H * 2 - 1) * (W * 2 - 1)) * itemsize


def flops(B=B, CI=CI, CO=CO, S=S, H=H, W=W):
    return 2 * B * S * H * W * CI * CO // 4 * 27
