"""Euclidean distances between all pairs of two point sets.

x (N, D), y (M, D) → (N, M), out[i, j] = √max(Σ_d (x[i, d] − y[j, d])², 1e-6). The floor keeps the gradient finite where points meet.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "geometry"
DIFFERENTIABLE = True

N = Dim(8192, low=6923, high=9216, cpu=1024)
M = Dim(12288, low=10240, high=13312, cpu=1536)
D = Dim(64, low=44, high=80, align=4, cpu=64)


class Model(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        squared = x.square().sum(1)[:, None] + y.square().sum(1)[None, :] - 2 * (x @ y.T)
        return squared.clamp_min(1e-6).sqrt()


def get_inputs(N=N, M=M, D=D):
    return [torch.randn(N, D), torch.randn(M, D)]


def get_init_inputs():
    return []


def min_bytes(N=N, M=M, D=D, itemsize=4):
    return (N * M + (N + M) * D) * itemsize


def flops(N=N, M=M, D=D):
    return 2 * N * M * D
