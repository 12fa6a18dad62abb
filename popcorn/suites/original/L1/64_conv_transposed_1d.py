"""Transposed convolution of sequences: x (B, CI, T), kernel 3."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "convolution"
DIFFERENTIABLE = True

B = Dim(32, fixed=True, cpu=4)
CI = Dim(128, fixed=True, cpu=32)
CO = Dim(128, fixed=True, cpu=32)
T = Dim(8192, fixed=True, cpu=1024)


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.ConvTranspose1d(in_channels, out_channels, 3, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


def get_inputs(B=B, CI=CI, T=T):
    return [torch.randn(B, CI, T)]


def get_init_inputs(CI=CI, CO=CO):
    return [CI, CO]


def min_bytes(B=B, CI=CI, CO=CO, T=T, itemsize=4):
    return (B * CI * T + CI * CO * 3 + B * CO * (T + 2)) * itemsize


def flops(B=B, CI=CI, CO=CO, T=T):
    return 2 * B * T * CI * CO * 3
