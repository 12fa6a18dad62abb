"""Kernel matrix of a Gaussian process: radial basis functions with a length scale for every feature.

x (N, D), z (M, D) → K (N, M), K[i, j] = amplitude² · exp(−½ Σ_d ((x[i, d] − z[j, d]) / length[d])²).
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "probabilistic"
DIFFERENTIABLE = True

N = Dim(12288, low=10240, high=13312, cpu=1536)
M = Dim(8192, low=6923, high=9216, cpu=1024)
D = Dim(32, low=24, high=40, cpu=32)


class Model(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        # near √features, so that entries of the matrix are neither all 0 nor all 1
        self.length = nn.Parameter(features**0.5 * (0.75 + 0.5 * torch.rand(features)))
        self.amplitude = nn.Parameter(0.5 + torch.rand(1))

    def forward(self, x: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        x, z = x / self.length, z / self.length
        squared = x.square().sum(1)[:, None] + z.square().sum(1)[None, :] - 2 * (x @ z.T)
        return self.amplitude.square() * torch.exp(-0.5 * squared.clamp_min(0))


def get_inputs(N=N, M=M, D=D):
    return [torch.randn(N, D), torch.randn(M, D)]


def get_init_inputs(D=D):
    return [D]


def min_bytes(N=N, M=M, D=D, itemsize=4):
    return (N * M + (N + M) * D + D + 1) * itemsize


def flops(N=N, M=M, D=D):
    return 2 * N * M * D
