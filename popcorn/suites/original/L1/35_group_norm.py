"""Group norm: the channels in G groups, each group of every image by its mean and variance.

x (B, C, H, H) → the same shape, weight and bias for every channel, eps 1e-5.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "normalization"
DIFFERENTIABLE = True

B = Dim(64, fixed=True, cpu=8)
C = Dim(64, fixed=True, cpu=16)
H = Dim(128, fixed=True, cpu=48)
G = Dim(8, fixed=True, cpu=4)


class Model(nn.Module):
    def __init__(self, groups: int, channels: int):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)
        nn.init.normal_(self.norm.weight, 1.0, 0.2)
        nn.init.normal_(self.norm.bias, 0.0, 0.2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


def get_inputs(B=B, C=C, H=H):
    return [torch.randn(B, C, H, H)]


def get_init_inputs(G=G, C=C):
    return [G, C]


def min_bytes(B=B, C=C, H=H, itemsize=4):
    return (2 * B * C * H * H + 2 * C) * itemsize


def flops(B=B, C=C, H=H):
    return 6 * B * C * H * H
