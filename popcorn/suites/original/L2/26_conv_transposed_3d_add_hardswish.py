"""Transposed convolution of volumes, then a second input added, hard swish: x (B, CI, S, H, H) → z · hardswish(z), z = y + other, other
(B, CO, 2S, 2H, 2H), (B, CO, 2S, 2H, 2H).

y = conv(x), (B, CO, 2S, 2H, 2H), kernel 3, stride 2.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "convolution"
DIFFERENTIABLE = True

B = Dim(16, fixed=True, cpu=1)
CI = Dim(32, fixed=True, cpu=8)
CO = Dim(32, fixed=True, cpu=16)
S = Dim(12, fixed=True, cpu=6)
H = Dim(24, fixed=True, cpu=10)


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.ConvTranspose3d(in_channels, out_channels, 3, stride=2, padding=1, output_padding=1)

    def forward(self, x: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        y = y + other
        return y * functional.hardswish(y)


def get_inputs(B=B, CI=CI, CO=CO, S=S, H=H):
    return [torch.randn(B, CI, S, H, H), torch.randn(B, CO, 2 * S, 2 * H, 2 * H)]


def get_init_inputs(CI=CI, CO=CO):
    return [CI, CO]


def min_bytes(B=B, CI=CI, CO=CO, S=S, H=H, itemsize=4):
    return (B * CI * S * H * H + 2 * B * CO * (2 * S) * (2 * H) * (2 * H) + 27 * CI * CO + CO) * itemsize


def flops(B=B, CI=CI, CO=CO, S=S, H=H):
    return 2 * B * S * H * H * CI * CO * 27
