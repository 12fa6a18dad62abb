"""Convolution, ReLU, then a bias for every channel: x (B, CI, H, H) → relu(conv(x)) + bias, (B, CO, H − 2, H − 2), window 3."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "convolution"
DIFFERENTIABLE = True

B = Dim(32, fixed=True, cpu=4)
CI = Dim(64, fixed=True, cpu=32)
CO = Dim(128, fixed=True, cpu=64)
H = Dim(128, fixed=True, cpu=64)


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3)
        self.bias = nn.Parameter(torch.randn(out_channels, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.conv(x)) + self.bias


def get_inputs(B=B, CI=CI, H=H):
    return [torch.randn(B, CI, H, H)]


def get_init_inputs(CI=CI, CO=CO):
    return [CI, CO]


def min_bytes(B=B, CI=CI, CO=CO, H=H, itemsize=4):
    return (B * CI * H * H + B * CO * (H - 2) ** 2 + CO * CI * 9 + 2 * CO) * itemsize


def flops(B=B, CI=CI, CO=CO, H=H):
    return 2 * B * CO * (H - 2) ** 2 * CI * 9
