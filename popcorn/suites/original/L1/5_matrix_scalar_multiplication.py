"""Every element of a matrix times one number: a (M, N), scale (1) → scale · a."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "linear algebra"
DIFFERENTIABLE = True

M = Dim(16384, fixed=True, cpu=2048)
N = Dim(4096, fixed=True, cpu=2048)


class Model(nn.Module):
    def forward(self, a: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return a * scale


def get_inputs(M=M, N=N):
    return [torch.randn(M, N), torch.randn(1)]


def get_init_inputs():
    return []


def min_bytes(M=M, N=N, itemsize=4):
    return (2 * M * N + 1) * itemsize


def flops(M=M, N=N):
    return M * N
