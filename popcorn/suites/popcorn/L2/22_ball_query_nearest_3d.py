"""Distances from every centre to its K nearest points, none beyond a radius: centre (B, M, 3), points (B, N, 3) → (B, M, K).

Rising squared distances, those beyond radius² = 0.5 replaced by it.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "geometry"
DIFFERENTIABLE = False
TOLERANCE = {"float32": 2e-4}
TOLERANCE_WHY = "Squares of coordinates cancel where points are near: an error of a rounding of |x|² stands against a small distance."

B = Dim(8, low=5, high=10, cpu=2)
M = Dim(8192, low=6922, high=9216, cpu=128)
N = Dim(8192, low=6922, high=9216, cpu=1024)
K = Dim(16, fixed=True, cpu=16)


class Model(nn.Module):
    def __init__(self, k: int):
        super().__init__()
        self.k = k

    def forward(self, centre: torch.Tensor, points: torch.Tensor) -> torch.Tensor:
        squared = centre.square().sum(-1)[:, :, None] + points.square().sum(-1)[:, None] - 2 * (centre @ points.transpose(1, 2))
        return squared.clamp(0, 0.5).topk(self.k, dim=-1, largest=False, sorted=True).values


def get_inputs(B=B, M=M, N=N):
    return [torch.randn(B, M, 3), torch.randn(B, N, 3)]


def get_init_inputs(K=K):
    return [K]


def min_bytes(B=B, M=M, N=N, K=K, itemsize=4):
    return (B * M * 3 + B * N * 3 + B * M * K) * itemsize


def flops(B=B, M=M, N=N):
    return 6 * B * M * N
