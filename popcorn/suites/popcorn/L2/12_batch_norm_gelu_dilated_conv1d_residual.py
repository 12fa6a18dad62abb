"""A block of genomic models: batch norm in training, GELU, dilated convolution, residual: x (B, C, T), width 3, dilation 2."""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "genomics"
DIFFERENTIABLE = True

B = Dim(8, low=5, high=10, cpu=2)
C = Dim(512, low=432, high=576, align=8, cpu=128)
T = Dim(4096, low=3461, high=4608, cpu=512)


class Model(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.weight = nn.Parameter(1 + 0.2 * torch.randn(channels))
        self.bias = nn.Parameter(0.2 * torch.randn(channels))
        self.conv = nn.Conv1d(channels, channels, 3, padding=2, dilation=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normed = functional.batch_norm(x, None, None, self.weight, self.bias, training=True)
        return x + self.conv(functional.gelu(normed))


def get_inputs(B=B, C=C, T=T):
    return [torch.randn(B, C, T)]


def get_init_inputs(C=C):
    return [C]


def min_bytes(B=B, C=C, T=T, itemsize=4):
    return (2 * B * C * T + 3 * C * C + 3 * C) * itemsize


def flops(B=B, C=C, T=T):
    return 6 * B * T * C * C
