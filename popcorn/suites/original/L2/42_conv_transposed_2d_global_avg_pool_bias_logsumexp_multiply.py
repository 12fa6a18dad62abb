"""Transposed convolution, then mean over places, bias, log of a sum, scale: x (B, CI, H, H) → 10 log Σ over channels of exp(2H · mean
over places of y + bias), (B, 1).

y = conv(x), (B, CO, 2H, 2H), kernel 3, stride 2.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "convolution"
DIFFERENTIABLE = True

B = Dim(256, fixed=True, cpu=8)
CI = Dim(64, fixed=True, cpu=16)
CO = Dim(64, fixed=True, cpu=32)
H = Dim(32, fixed=True, cpu=12)


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.ConvTranspose2d(in_channels, out_channels, 3, stride=2, padding=1, output_padding=1)
        self.bias = nn.Parameter(torch.randn(out_channels, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        y = y.mean((2, 3)) * y.shape[-1] + self.bias[:, 0, 0]
        return 10 * torch.logsumexp(y, 1, keepdim=True)


def get_inputs(B=B, CI=CI, H=H):
    return [torch.randn(B, CI, H, H)]


def get_init_inputs(CI=CI, CO=CO):
    return [CI, CO]


def min_bytes(B=B, CI=CI, CO=CO, H=H, itemsize=4):
    return (B * CI * H * H + 9 * CI * CO + CO + CO + B * 1) * itemsize


def flops(B=B, CI=CI, CO=CO, H=H):
    return 2 * B * H * H * CI * CO * 9
