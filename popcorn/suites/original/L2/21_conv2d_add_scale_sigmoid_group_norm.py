"""Convolution, then bias, scale, logistic function, group norm: x (B, CI, H, H) → group_norm(σ(scale · (y + bias))), groups of 8
channels, (B, CO, H − 2, H − 2).

y = conv(x), (B, CO, H − 2, H − 2), kernel 3.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "convolution"
DIFFERENTIABLE = True

B = Dim(64, fixed=True, cpu=2)
CI = Dim(32, fixed=True, cpu=16)
CO = Dim(64, fixed=True, cpu=32)
H = Dim(128, fixed=True, cpu=56)


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3)
        self.bias = nn.Parameter(torch.randn(out_channels, 1, 1))
        self.scale = nn.Parameter(1 + 0.2 * torch.randn(out_channels, 1, 1))
        self.norm = nn.GroupNorm(out_channels // 8, out_channels)
        nn.init.normal_(self.norm.weight, 1.0, 0.2)
        nn.init.normal_(self.norm.bias, 0.0, 0.2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        return self.norm(torch.sigmoid((y + self.bias) * self.scale))


def get_inputs(B=B, CI=CI, H=H):
    return [torch.randn(B, CI, H, H)]


def get_init_inputs(CI=CI, CO=CO):
    return [CI, CO]


def min_bytes(B=B, CI=CI, CO=CO, H=H, itemsize=4):
    return (B * CI * H * H + 9 * CI * CO + CO + 4 * CO + B * CO * (H - 2) * (H - 2)) * itemsize


def flops(B=B, CI=CI, CO=CO, H=H):
    return 2 * B * CO * (H - 2) ** 2 * CI * 9
