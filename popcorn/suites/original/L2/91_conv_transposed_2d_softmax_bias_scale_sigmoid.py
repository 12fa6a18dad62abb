"""Transposed convolution, then softmax over channels, bias, scale, logistic function: x (B, CI, H, H) → σ(2 (softmax(y) + bias)), (B,
CO, 2H, 2H).

y = conv(x), (B, CO, 2H, 2H), kernel 3, stride 2.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "convolution"
DIFFERENTIABLE = True

B = Dim(32, fixed=True, cpu=2)
CI = Dim(64, fixed=True, cpu=16)
CO = Dim(64, fixed=True, cpu=32)
H = Dim(64, fixed=True, cpu=24)


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.ConvTranspose2d(in_channels, out_channels, 3, stride=2, padding=1, output_padding=1)
        self.bias = nn.Parameter(torch.randn(out_channels, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        return torch.sigmoid(2 * (torch.softmax(y, 1) + self.bias))


def get_inputs(B=B, CI=CI, H=H):
    return [torch.randn(B, CI, H, H)]


def get_init_inputs(CI=CI, CO=CO):
    return [CI, CO]


def min_bytes(B=B, CI=CI, CO=CO, H=H, itemsize=4):
    return (B * CI * H * H + 9 * CI * CO + CO + CO + B * CO * (2 * H) * (2 * H)) * itemsize


def flops(B=B, CI=CI, CO=CO, H=H):
    return 2 * B * H * H * CI * CO * 9
