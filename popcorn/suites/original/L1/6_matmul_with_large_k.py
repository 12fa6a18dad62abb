"""A product whose inner dimension is very long: a (M, K) · b (K, N) → (M, N)."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "linear algebra"
DIFFERENTIABLE = True

M = Dim(256, fixed=True, cpu=96)
K = Dim(262144, fixed=True, cpu=16384)
N = Dim(256, fixed=True, cpu=96)


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


def get_inputs(M=M, K=K, N=N):
    return [torch.randn(M, K), torch.randn(K, N)]


def get_init_inputs():
    return []


def min_bytes(M=M, K=K, N=N, itemsize=4):
    return (M * K + K * N + M * N) * itemsize


def flops(M=M, K=K, N=N):
    return 2 * M * K * N
