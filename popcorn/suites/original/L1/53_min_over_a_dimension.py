"""Minimum over the middle dimension: x (B, M, N) → (B, N)."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "reduction"
DIFFERENTIABLE = True
NOTES = "Where a minimum stands several times, its gradient is shared evenly."

B = Dim(64, fixed=True, cpu=8)
M = Dim(2048, fixed=True, cpu=512)
N = Dim(1024, fixed=True, cpu=256)


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.amin(1)


def get_inputs(B=B, M=M, N=N):
    return [torch.randn(B, M, N)]


def get_init_inputs():
    return []


def min_bytes(B=B, M=M, N=N, itemsize=4):
    return (B * M * N + B * N) * itemsize


def flops(B=B, M=M, N=N):
    return B * M * N
