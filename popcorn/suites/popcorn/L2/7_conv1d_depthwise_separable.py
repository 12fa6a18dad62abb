"""Every channel convolved alone, then channels mixed: x (B, C, T) → (B, CO, T), width 5, same length."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "genomics"
DIFFERENTIABLE = True

B = Dim(16, low=11, high=21, cpu=4)
C = Dim(256, low=216, high=288, align=8, cpu=64)
CO = Dim(512, low=432, high=576, align=8, cpu=128)
T = Dim(4096, low=3461, high=4608, cpu=512)


class Model(nn.Module):
    def __init__(self, channels: int, out_channels: int):
        super().__init__()
        self.each = nn.Conv1d(channels, channels, 5, padding=2, groups=channels)
        self.mix = nn.Conv1d(channels, out_channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.mix(self.each(x))


def get_inputs(B=B, C=C, T=T):
    return [torch.randn(B, C, T)]


def get_init_inputs(C=C, CO=CO):
    return [C, CO]


def min_bytes(B=B, C=C, CO=CO, T=T, itemsize=4):
    return (B * C * T + 6 * C + C * CO + CO + B * CO * T) * itemsize


def flops(B=B, C=C, CO=CO, T=T):
    return 2 * B * T * C * (5 + CO)
