"""Batch norm in training: every channel by its mean and variance over batch and image.

x (B, C, H, H) → (B, C, H, H), with weight and bias, eps 1e-5; running averages are not kept.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "normalization"
DIFFERENTIABLE = True

B = Dim(32, fixed=True, cpu=8)
C = Dim(64, fixed=True, cpu=16)
H = Dim(128, fixed=True, cpu=48)


class Model(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.weight = nn.Parameter(1 + 0.2 * torch.randn(channels))
        self.bias = nn.Parameter(0.2 * torch.randn(channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.batch_norm(x, None, None, self.weight, self.bias, training=True)


def get_inputs(B=B, C=C, H=H):
    return [torch.randn(B, C, H, H)]


def get_init_inputs(C=C):
    return [C]


def min_bytes(B=B, C=C, H=H, itemsize=4):
    return (2 * B * C * H * H + 2 * C) * itemsize


def flops(B=B, C=C, H=H):
    return 6 * B * C * H * H
