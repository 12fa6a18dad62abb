"""Layer norm over the last three dimensions: x (B, C, H, H), weight and bias (C, H, H), eps 1e-5."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "normalization"
DIFFERENTIABLE = True

B = Dim(64, fixed=True, cpu=8)
C = Dim(64, fixed=True, cpu=16)
H = Dim(64, fixed=True, cpu=48)


class Model(nn.Module):
    def __init__(self, channels: int, side: int):
        super().__init__()
        self.norm = nn.LayerNorm((channels, side, side))
        nn.init.normal_(self.norm.weight, 1.0, 0.2)
        nn.init.normal_(self.norm.bias, 0.0, 0.2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


def get_inputs(B=B, C=C, H=H):
    return [torch.randn(B, C, H, H)]


def get_init_inputs(C=C, H=H):
    return [C, H]


def min_bytes(B=B, C=C, H=H, itemsize=4):
    return (2 * B * C * H * H + 2 * C * H * H) * itemsize


def flops(B=B, C=C, H=H):
    return 6 * B * C * H * H
