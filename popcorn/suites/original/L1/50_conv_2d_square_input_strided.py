"""First layer of an image network: x (B, CI, H, H), kernel 11, stride 4, padding 2, with bias."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "convolution"
DIFFERENTIABLE = True

B = Dim(64, fixed=True, cpu=4)
CI = Dim(3, fixed=True, cpu=3)
CO = Dim(96, fixed=True, cpu=32)
H = Dim(224, fixed=True, cpu=112)


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 11, stride=4, padding=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


def get_inputs(B=B, CI=CI, H=H):
    return [torch.randn(B, CI, H, H)]


def get_init_inputs(CI=CI, CO=CO):
    return [CI, CO]


def min_bytes(B=B, CI=CI, CO=CO, H=H, itemsize=4):
    return (B * CI * H * H + CI * CO * 121 + CO + B * CO * ((H - 7) // 4 + 1) * ((H - 7) // 4 + 1)) * itemsize


def flops(B=B, CI=CI, CO=CO, H=H):
    return 2 * B * ((H - 7) // 4 + 1) * ((H - 7) // 4 + 1) * CI * CO * 121
