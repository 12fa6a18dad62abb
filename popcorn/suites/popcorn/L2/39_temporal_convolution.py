"""Two causal dilated convolutions with ReLU and a residual: x (B, C, T) → the same shape, width 3, dilations 1 and 4."""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "time series"
DIFFERENTIABLE = True

B = Dim(16, low=11, high=21, cpu=4)
C = Dim(256, low=216, high=288, align=8, cpu=64)
T = Dim(4096, low=3461, high=4608, cpu=512)


class Model(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.first = nn.Conv1d(channels, channels, 3)
        self.second = nn.Conv1d(channels, channels, 3, dilation=4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(self.first(functional.pad(x, (2, 0))))
        hidden = torch.relu(self.second(functional.pad(hidden, (8, 0))))
        return torch.relu(x + hidden)


def get_inputs(B=B, C=C, T=T):
    return [torch.randn(B, C, T)]


def get_init_inputs(C=C):
    return [C]


def min_bytes(B=B, C=C, T=T, itemsize=4):
    return (2 * B * C * T + 6 * C * C + 2 * C) * itemsize


def flops(B=B, C=C, T=T):
    return 12 * B * T * C * C
