"""A tall matrix times a wide one: a (M, K) · b (K, M) → (M, M), K much smaller than M."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "linear algebra"
DIFFERENTIABLE = True

M = Dim(12288, fixed=True, cpu=1536)
K = Dim(32, fixed=True, cpu=16)


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


def get_inputs(M=M, K=K):
    return [torch.randn(M, K), torch.randn(K, M)]


def get_init_inputs():
    return []


def min_bytes(M=M, K=K, itemsize=4):
    return (M * K + K * M + M * M) * itemsize


def flops(M=M, K=K):
    return 2 * M * M * K
