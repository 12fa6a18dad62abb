"""Convolution of volumes, then minimum over depth and softmax: x (B, CI, S, H, H) → softmax over channels of the least y over depth, (B,
CO, H − 2, H − 2).

y = conv(x), (B, CO, S − 2, H − 2, H − 2), kernel 3.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "convolution"
DIFFERENTIABLE = True

B = Dim(32, fixed=True, cpu=1)
CI = Dim(16, fixed=True, cpu=4)
CO = Dim(32, fixed=True, cpu=16)
S = Dim(16, fixed=True, cpu=8)
H = Dim(64, fixed=True, cpu=24)


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        return torch.softmax(y.amin(2), 1)


def get_inputs(B=B, CI=CI, S=S, H=H):
    return [torch.randn(B, CI, S, H, H)]


def get_init_inputs(CI=CI, CO=CO):
    return [CI, CO]


def min_bytes(B=B, CI=CI, CO=CO, S=S, H=H, itemsize=4):
    return (B * CI * S * H * H + 27 * CI * CO + CO + B * CO * (H - 2) * (H - 2)) * itemsize


def flops(B=B, CI=CI, CO=CO, S=S, H=H):
    return 2 * B * CO * (S - 2) * (H - 2) ** 2 * CI * 27
