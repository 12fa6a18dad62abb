"""Products of many pairs of matrices: a (B, M, K) · b (B, K, N) → (B, M, N)."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "linear algebra"
DIFFERENTIABLE = True

B = Dim(128, fixed=True, cpu=8)
M = Dim(512, fixed=True, cpu=192)
K = Dim(1024, fixed=True, cpu=256)
N = Dim(512, fixed=True, cpu=192)


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.bmm(a, b)


def get_inputs(B=B, M=M, K=K, N=N):
    return [torch.randn(B, M, K), torch.randn(B, K, N)]


def get_init_inputs():
    return []


def min_bytes(B=B, M=M, K=K, N=N, itemsize=4):
    return (B * M * K + B * K * N + B * M * N) * itemsize


def flops(B=B, M=M, K=K, N=N):
    return 2 * B * M * K * N
