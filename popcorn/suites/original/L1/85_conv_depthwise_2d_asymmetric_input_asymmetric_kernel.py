"""Every channel of wide images convolved alone with a wide kernel: x (B, C, H, W), kernel 3 × 7."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "convolution"
DIFFERENTIABLE = True

B = Dim(32, fixed=True, cpu=4)
C = Dim(128, fixed=True, cpu=32)
H = Dim(128, fixed=True, cpu=64)
W = Dim(256, fixed=True, cpu=128)


class Model(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, (3, 7), groups=channels, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


def get_inputs(B=B, C=C, H=H, W=W):
    return [torch.randn(B, C, H, W)]


def get_init_inputs(C=C):
    return [C]


def min_bytes(B=B, C=C, H=H, W=W, itemsize=4):
    return (B * C * H * W + C * 21 + B * C * (H - 2) * (W - 6)) * itemsize


def flops(B=B, C=C, H=H, W=W):
    return 2 * B * (H - 2) * (W - 6) * C * 21
