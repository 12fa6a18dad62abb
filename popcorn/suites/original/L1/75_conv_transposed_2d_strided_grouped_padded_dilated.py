"""Transposed convolution with everything: x (B, CI, H, W), kernel 3 × 5. Stride 2 × 3, padding 1 × 2, dilation 2 × 1, 4 groups."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "convolution"
DIFFERENTIABLE = True

B = Dim(16, fixed=True, cpu=2)
CI = Dim(32, fixed=True, cpu=16)
CO = Dim(64, fixed=True, cpu=32)
H = Dim(96, fixed=True, cpu=32)
W = Dim(192, fixed=True, cpu=48)


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.ConvTranspose2d(
            in_channels, out_channels, (3, 5), stride=(2, 3), padding=(1, 2), dilation=(2, 1), groups=4, bias=False
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


def get_inputs(B=B, CI=CI, H=H, W=W):
    return [torch.randn(B, CI, H, W)]


def get_init_inputs(CI=CI, CO=CO):
    return [CI, CO]


def min_bytes(B=B, CI=CI, CO=CO, H=H, W=W, itemsize=4):
    return (B * CI * H * W + CI * CO // 4 * 15 + B * CO * (H * 2 + 1) * (W * 3 - 2)) * itemsize


def flops(B=B, CI=CI, CO=CO, H=H, W=W):
    return 2 * B * H * W * CI * CO // 4 * 15
