"""Convolution of volumes: x (B, CI, S, S, S), kernel 3."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "convolution"
DIFFERENTIABLE = True

B = Dim(8, fixed=True, cpu=1)
CI = Dim(16, fixed=True, cpu=8)
CO = Dim(64, fixed=True, cpu=16)
S = Dim(64, fixed=True, cpu=24)


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, 3, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


def get_inputs(B=B, CI=CI, S=S):
    return [torch.randn(B, CI, S, S, S)]


def get_init_inputs(CI=CI, CO=CO):
    return [CI, CO]


def min_bytes(B=B, CI=CI, CO=CO, S=S, itemsize=4):
    return (B * CI * S * S * S + CI * CO * 27 + B * CO * (S - 2) * (S - 2) * (S - 2)) * itemsize


def flops(B=B, CI=CI, CO=CO, S=S):
    return 2 * B * (S - 2) * (S - 2) * (S - 2) * CI * CO * 27
