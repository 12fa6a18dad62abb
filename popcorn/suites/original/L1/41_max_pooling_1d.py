"""Maximum over windows of a sequence: x (B, C, T) → (B, C, T − 14), window 8, dilation 2."""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "pooling"
DIFFERENTIABLE = True

B = Dim(64, fixed=True, cpu=16)
C = Dim(128, fixed=True, cpu=32)
T = Dim(8192, fixed=True, cpu=1024)


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.max_pool1d(x, kernel_size=8, stride=1, dilation=2)


def get_inputs(B=B, C=C, T=T):
    return [torch.randn(B, C, T)]


def get_init_inputs():
    return []


def min_bytes(B=B, C=C, T=T, itemsize=4):
    return (B * C * T + B * C * (T - 14)) * itemsize


def flops(B=B, C=C, T=T):
    return 7 * B * C * (T - 14)
