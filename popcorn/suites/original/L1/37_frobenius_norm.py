"""A matrix divided by its Frobenius norm: x (B, M, N) → x / √Σ x², one norm for each of B matrices."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "normalization"
DIFFERENTIABLE = True

B = Dim(64, fixed=True, cpu=8)
M = Dim(1024, fixed=True, cpu=256)
N = Dim(1024, fixed=True, cpu=512)


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / x.square().sum((1, 2), keepdim=True).sqrt()


def get_inputs(B=B, M=M, N=N):
    return [torch.randn(B, M, N)]


def get_init_inputs():
    return []


def min_bytes(B=B, M=M, N=N, itemsize=4):
    return 2 * B * M * N * itemsize


def flops(B=B, M=M, N=N):
    return 3 * B * M * N
