"""Transposed convolution of volumes, then pooling, clamp, softmax over places, product: x (B, CI, S, H, H) → scale · softmax over places
of clamp(mean over 2 × 2 × 2 of y, −1, 1), (B, CO, S, H, H).

y = conv(x), (B, CO, 2S, 2H, 2H), kernel 3, stride 2.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "convolution"
DIFFERENTIABLE = True

B = Dim(32, fixed=True, cpu=1)
CI = Dim(64, fixed=True, cpu=8)
CO = Dim(32, fixed=True, cpu=16)
S = Dim(12, fixed=True, cpu=6)
H = Dim(24, fixed=True, cpu=10)


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.ConvTranspose3d(in_channels, out_channels, 3, stride=2, padding=1, output_padding=1)
        self.scale = nn.Parameter(1 + 0.5 * torch.randn(out_channels, 1, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        y = functional.avg_pool3d(y, 2).clamp(-1, 1)
        return torch.softmax(y.flatten(2), -1).view_as(y) * self.scale


def get_inputs(B=B, CI=CI, S=S, H=H):
    return [torch.randn(B, CI, S, H, H)]


def get_init_inputs(CI=CI, CO=CO):
    return [CI, CO]


def min_bytes(B=B, CI=CI, CO=CO, S=S, H=H, itemsize=4):
    return (B * CI * S * H * H + 27 * CI * CO + CO + CO + B * CO * S * H * H) * itemsize


def flops(B=B, CI=CI, CO=CO, S=S, H=H):
    return 2 * B * S * H * H * CI * CO * 27
