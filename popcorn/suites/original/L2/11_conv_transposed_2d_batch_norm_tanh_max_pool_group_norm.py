"""Transposed convolution, then batch norm, tanh, pooling, group norm: x (B, CI, H, H) → group_norm(max over 2 × 2 of
tanh(batch_norm(y))), (B, CO, H, H).

y = conv(x), (B, CO, 2H, 2H), kernel 3, stride 2 ; batch statistics, groups of 8 channels.
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
H = Dim(64, fixed=True, cpu=24)


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.ConvTranspose2d(in_channels, out_channels, 3, stride=2, padding=1, output_padding=1)
        self.weight = nn.Parameter(1 + 0.2 * torch.randn(out_channels))
        self.shift = nn.Parameter(0 + 0.2 * torch.randn(out_channels))
        self.norm = nn.GroupNorm(out_channels // 8, out_channels)
        nn.init.normal_(self.norm.weight, 1.0, 0.2)
        nn.init.normal_(self.norm.bias, 0.0, 0.2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        y = torch.tanh(functional.batch_norm(y, None, None, self.weight, self.shift, training=True))
        return self.norm(functional.max_pool2d(y, 2))


def get_inputs(B=B, CI=CI, H=H):
    return [torch.randn(B, CI, H, H)]


def get_init_inputs(CI=CI, CO=CO):
    return [CI, CO]


def min_bytes(B=B, CI=CI, CO=CO, H=H, itemsize=4):
    return (B * CI * H * H + 9 * CI * CO + CO + 4 * CO + B * CO * H * H) * itemsize


def flops(B=B, CI=CI, CO=CO, H=H):
    return 2 * B * H * H * CI * CO * 9
