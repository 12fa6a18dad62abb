"""Rows divided by their Euclidean norm: x (B, D) → x / √Σ x²."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "normalization"
DIFFERENTIABLE = True

B = Dim(16384, fixed=True, cpu=1024)
D = Dim(8192, fixed=True, cpu=2048)


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / x.square().sum(1, keepdim=True).sqrt()


def get_inputs(B=B, D=D):
    return [torch.randn(B, D)]


def get_init_inputs():
    return []


def min_bytes(B=B, D=D, itemsize=4):
    return 2 * B * D * itemsize


def flops(B=B, D=D):
    return 3 * B * D
