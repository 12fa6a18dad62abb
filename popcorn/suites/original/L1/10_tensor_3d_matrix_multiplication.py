"""The last dimension of a tensor times a matrix: a (B, M, K) · b (K, N) → (B, M, N)."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "linear algebra"
DIFFERENTIABLE = True

B = Dim(16, fixed=True, cpu=4)
M = Dim(1024, fixed=True, cpu=128)
K = Dim(2048, fixed=True, cpu=512)
N = Dim(768, fixed=True, cpu=384)


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


def get_inputs(B=B, M=M, K=K, N=N):
    return [torch.randn(B, M, K), torch.randn(K, N)]


def get_init_inputs():
    return []


def min_bytes(B=B, M=M, K=K, N=N, itemsize=4):
    return (B * M * K + K * N + B * M * N) * itemsize


def flops(B=B, M=M, K=K, N=N):
    return 2 * B * M * K * N
