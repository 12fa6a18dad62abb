"""Transposed convolution of volumes, then batch norm, then its own mean over places subtracted: x (B, CI, S, H, H) → z − mean over
places of z, z = batch_norm(y) without a shift, (B, CO, 2S, 2H, 2H).

y = conv(x), (B, CO, 2S, 2H, 2H), kernel 3, stride 2.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "convolution"
DIFFERENTIABLE = True

B = Dim(16, fixed=True, cpu=2)
CI = Dim(32, fixed=True, cpu=8)
CO = Dim(32, fixed=True, cpu=16)
S = Dim(12, fixed=True, cpu=6)
H = Dim(24, fixed=True, cpu=10)


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.ConvTranspose3d(in_channels, out_channels, 3, stride=2, padding=1, output_padding=1)
        self.weight = nn.Parameter(1 + 0.2 * torch.randn(out_channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        y = functional.batch_norm(y, None, None, self.weight, None, training=True)
        return y - y.mean((2, 3, 4), keepdim=True)


def get_inputs(B=B, CI=CI, S=S, H=H):
    return [torch.randn(B, CI, S, H, H)]


def get_init_inputs(CI=CI, CO=CO):
    return [CI, CO]


def min_bytes(B=B, CI=CI, CO=CO, S=S, H=H, itemsize=4):
    return (B * CI * S * H * H + 27 * CI * CO + CO + CO + B * CO * (2 * S) * (2 * H) * (2 * H)) * itemsize


def flops(B=B, CI=CI, CO=CO, S=S, H=H):
    return 2 * B * S * H * H * CI * CO * 27
