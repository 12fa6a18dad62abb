"""One row through a square weight: x (1, N) · weightᵀ → (1, N). A call reads the weight and does little else."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "linear algebra"
DIFFERENTIABLE = True
N = Dim(2048, fixed=True)


class Model(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.linear = nn.Linear(features, features, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x)


def get_inputs(N=N):
    return [torch.randn(1, N)]


def get_init_inputs(N=N):
    return [N]


def min_bytes(N=N, itemsize=4):
    return (N * N + 2 * N) * itemsize


def flops(N=N):
    return 2 * N * N
