"""A diagonal matrix, given as its diagonal, times a matrix: d (N), a (N, M) → d[:, None] · a."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "linear algebra"
DIFFERENTIABLE = True

N = Dim(8192, fixed=True, cpu=1024)
M = Dim(8192, fixed=True, cpu=2048)


class Model(nn.Module):
    def forward(self, d: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
        return d[:, None] * a


def get_inputs(N=N, M=M):
    return [torch.randn(N), torch.randn(N, M)]


def get_init_inputs():
    return []


def min_bytes(N=N, M=M, itemsize=4):
    return (N + 2 * N * M) * itemsize


def flops(N=N, M=M):
    return N * M
