"""The last dimension of a four-dimensional tensor times a matrix: a (B, R, J, L) · b (L, K) → (B, R, J, K)."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "linear algebra"
DIFFERENTIABLE = True

B = Dim(8, fixed=True, cpu=2)
R = Dim(256, fixed=True, cpu=16)
J = Dim(256, fixed=True, cpu=32)
L = Dim(256, fixed=True, cpu=192)
K = Dim(768, fixed=True, cpu=256)


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.einsum("bijl,lk->bijk", a, b)


def get_inputs(B=B, R=R, J=J, L=L, K=K):
    return [torch.randn(B, R, J, L), torch.randn(L, K)]


def get_init_inputs():
    return []


def min_bytes(B=B, R=R, J=J, L=L, K=K, itemsize=4):
    return (B * R * J * L + L * K + B * R * J * K) * itemsize


def flops(B=B, R=R, J=J, L=L, K=K):
    return 2 * B * R * J * L * K
