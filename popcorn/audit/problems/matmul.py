"""Product of two square matrices: a (N, N) · b (N, N) → (N, N). Fixed sizes, more work than bytes."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "linear algebra"
DIFFERENTIABLE = True
N = Dim(256, fixed=True)


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


def get_inputs(N=N):
    return [torch.randn(N, N), torch.randn(N, N)]


def get_init_inputs():
    return []


def min_bytes(N=N, itemsize=4):
    return 3 * N * N * itemsize


def flops(N=N):
    return 2 * N**3
