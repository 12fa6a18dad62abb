"""Product of two symmetric matrices (N, N): the inputs are made symmetric first, as (a + aᵀ) / 2."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "linear algebra"
DIFFERENTIABLE = True

N = Dim(4096, fixed=True, cpu=640)


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        a, b = (a + a.T) / 2, (b + b.T) / 2
        return a @ b


def get_inputs(N=N):
    return [torch.randn(N, N), torch.randn(N, N)]


def get_init_inputs():
    return []


def min_bytes(N=N, itemsize=4):
    return 3 * N * N * itemsize


def flops(N=N):
    return 2 * N**3
