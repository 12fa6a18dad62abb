"""Every channel convolved alone, then channels mixed at every place: x (B, CI, H, H) → (B, CO, H, H), kernel 3, padding 1."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "convolution"
DIFFERENTIABLE = True

B = Dim(16, fixed=True, cpu=2)
CI = Dim(64, fixed=True, cpu=32)
CO = Dim(128, fixed=True, cpu=64)
H = Dim(256, fixed=True, cpu=64)


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.each = nn.Conv2d(in_channels, in_channels, 3, padding=1, groups=in_channels, bias=False)
        self.mix = nn.Conv2d(in_channels, out_channels, 1, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.mix(self.each(x))


def get_inputs(B=B, CI=CI, H=H):
    return [torch.randn(B, CI, H, H)]


def get_init_inputs(CI=CI, CO=CO):
    return [CI, CO]


def min_bytes(B=B, CI=CI, CO=CO, H=H, itemsize=4):
    return (B * CI * H * H + CI * 9 + CI * CO + B * CO * H * H) * itemsize


def flops(B=B, CI=CI, CO=CO, H=H):
    return 2 * B * H * H * CI * (9 + CO)
