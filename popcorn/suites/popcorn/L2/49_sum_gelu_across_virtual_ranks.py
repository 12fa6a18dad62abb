"""Sum over virtual ranks, then GELU: x (R, B, D) → gelu(Σ_r x[r]), (B, D)."""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "distributed"
DIFFERENTIABLE = True

R = Dim(4, low=2, high=5, cpu=4)
B = Dim(8192, low=6922, high=9216, cpu=512)
D = Dim(2048, low=1736, high=2304, align=8, cpu=1024)


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.gelu(x.sum(0))


def get_inputs(R=R, B=B, D=D):
    return [torch.randn(R, B, D)]


def get_init_inputs():
    return []


def min_bytes(R=R, B=B, D=D, itemsize=4):
    return (R * B * D + B * D) * itemsize


def flops(R=R, B=B, D=D):
    return (R + 8) * B * D
