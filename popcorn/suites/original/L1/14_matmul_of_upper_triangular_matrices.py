"""Product of the upper triangles of two matrices (N, N); the result is upper triangular."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "linear algebra"
DIFFERENTIABLE = True
BYTES_WHY = "Only the upper triangles are read; the lower one of the result is written as zeros."
FLOPS_WHY = "Only half of the inner sums are non-zero, and half of the results; a flop counter sees the full products."

N = Dim(4096, fixed=True, cpu=640)


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.triu(torch.triu(a) @ torch.triu(b))


def get_inputs(N=N):
    return [torch.randn(N, N), torch.randn(N, N)]


def get_init_inputs():
    return []


def min_bytes(N=N, itemsize=4):
    return (N * (N + 1) + N * N) * itemsize


def flops(N=N):
    return N * (N + 1) * (N + 2) // 3
