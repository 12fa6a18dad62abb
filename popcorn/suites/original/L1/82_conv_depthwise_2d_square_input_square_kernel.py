"""Every channel convolved alone: x (B, C, H, H), kernel 3."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "convolution"
DIFFERENTIABLE = True

B = Dim(16, fixed=True, cpu=4)
C = Dim(64, fixed=True, cpu=32)
H = Dim(512, fixed=True, cpu=96)


class Model(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, groups=channels, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


def get_inputs(B=B, C=C, H=H):
    return [torch.randn(B, C, H, H)]


def get_init_inputs(C=C):
    return [C]


def min_bytes(B=B, C=C, H=H, itemsize=4):
    return (B * C * H * H + C * 9 + B * C * (H - 2) * (H - 2)) * itemsize


def flops(B=B, C=C, H=H):
    return 2 * B * (H - 2) * (H - 2) * C * 9
