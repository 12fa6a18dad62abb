"""Group norm and SiLU, the start of every block of a diffusion model: x (B, C, S, S), 32 channels a group."""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "diffusion"
DIFFERENTIABLE = True

B = Dim(16, low=11, high=21, cpu=4)
C = Dim(256, low=224, high=320, align=32, cpu=64)
S = Dim(128, low=108, high=144, cpu=32)


class Model(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.norm = nn.GroupNorm(channels // 32, channels)
        nn.init.normal_(self.norm.weight, 1.0, 0.2)
        nn.init.normal_(self.norm.bias, 0.0, 0.2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.silu(self.norm(x))


def get_inputs(B=B, C=C, S=S):
    return [torch.randn(B, C, S, S)]


def get_init_inputs(C=C):
    return [C]


def min_bytes(B=B, C=C, S=S, itemsize=4):
    return (2 * B * C * S * S + 2 * C) * itemsize


def flops(B=B, C=C, S=S):
    return 10 * B * C * S * S
