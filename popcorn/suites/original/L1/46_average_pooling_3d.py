"""Mean over windows of a volume: x (B, C, S, S, S), window 3, stride 2, padding 1 counted as zeros."""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "pooling"
DIFFERENTIABLE = True

B = Dim(8, fixed=True, cpu=2)
C = Dim(32, fixed=True, cpu=8)
S = Dim(96, fixed=True, align=2, cpu=24)


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.avg_pool3d(x, kernel_size=3, stride=2, padding=1)


def get_inputs(B=B, C=C, S=S):
    return [torch.randn(B, C, S, S, S)]


def get_init_inputs():
    return []


def min_bytes(B=B, C=C, S=S, itemsize=4):
    return (B * C * S * S * S + B * C * (S // 2) * (S // 2) * (S // 2)) * itemsize


def flops(B=B, C=C, S=S):
    return 27 * B * C * (S // 2) ** 3
