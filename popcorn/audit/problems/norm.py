"""Root-mean-square norm of each row with a weight for every feature: x (B, D) → x / √(mean(x²) + 1e-6) · weight."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "normalization"
DIFFERENTIABLE = True
B = Dim(48, low=32, high=64)
D = Dim(96, low=80, high=112)


class Model(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.weight = nn.Parameter(1 + 0.2 * torch.randn(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.weight


def get_inputs(B=B, D=D):
    return [torch.randn(B, D)]


def get_init_inputs(D=D):
    return [D]


def min_bytes(B=B, D=D, itemsize=4):
    return (2 * B * D + D) * itemsize


def flops(B=B, D=D):
    return 4 * B * D
