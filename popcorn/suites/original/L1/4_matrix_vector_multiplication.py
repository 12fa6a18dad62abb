"""Matrix times vector: a (M, K) · x (K) → (M)."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "linear algebra"
DIFFERENTIABLE = True

M = Dim(8192, fixed=True, cpu=2048)
K = Dim(16384, fixed=True, cpu=2048)


class Model(nn.Module):
    def forward(self, a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return a @ x


def get_inputs(M=M, K=K):
    return [torch.randn(M, K), torch.randn(K)]


def get_init_inputs():
    return []


def min_bytes(M=M, K=K, itemsize=4):
    return (M * K + K + M) * itemsize


def flops(M=M, K=K):
    return 2 * M * K
