"""Convolution, then GELU and mean over places: x (B, CI, H, H) → mean over places of gelu(y), (B, CO).

y = conv(x), (B, CO, H − 2, H − 2), kernel 3.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "convolution"
DIFFERENTIABLE = True

B = Dim(64, fixed=True, cpu=2)
CI = Dim(64, fixed=True, cpu=16)
CO = Dim(64, fixed=True, cpu=32)
H = Dim(128, fixed=True, cpu=56)


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        return functional.gelu(y).mean((2, 3))


def get_inputs(B=B, CI=CI, H=H):
    return [torch.randn(B, CI, H, H)]


def get_init_inputs(CI=CI, CO=CO):
    return [CI, CO]


def min_bytes(B=B, CI=CI, CO=CO, H=H, itemsize=4):
    return (B * CI * H * H + 9 * CI * CO + CO + B * CO) * itemsize


def flops(B=B, CI=CI, CO=CO, H=H):
    return 2 * B * CO * (H - 2) ** 2 * CI * 9
