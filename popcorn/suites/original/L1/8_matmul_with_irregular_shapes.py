"""A product whose sizes are no multiples of anything: a (M, K) · b (K, N) → (M, N)."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "linear algebra"
DIFFERENTIABLE = True

M = Dim(8205, fixed=True, cpu=517)
K = Dim(2949, fixed=True, cpu=613)
N = Dim(5921, fixed=True, cpu=719)


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
