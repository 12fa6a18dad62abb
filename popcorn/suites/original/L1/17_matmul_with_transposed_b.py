"""Product with the second factor stored transposed: a (M, K), b (N, K) → a · bᵀ, (M, N)."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "linear algebra"
DIFFERENTIABLE = True

M = Dim(2048, fixed=True, cpu=512)
K = Dim(8192, fixed=True, cpu=768)
N = Dim(4096, fixed=True, cpu=1024)


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b.T


def get_inputs(M=M, K=K, N=N):
    return [torch.randn(M, K), torch.randn(N, K)]


def get_init_inputs():
    return []


def min_bytes(M=M, K=K, N=N, itemsize=4):
    return (M * K + N * K + M * N) * itemsize


def flops(M=M, K=K, N=N):
    return 2 * M * K * N
