"""Two rounds of expectation-maximisation for diagonal Gaussian mixtures: x (N, D) → (means (K, D), variances (K, D), shares (K))."""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "bayesian"
DIFFERENTIABLE = True
TOLERANCE = {"float32": 2e-4}
TOLERANCE_WHY = (
    "Responsibilities are exponentials of distances in the tens, and sums run over all points: rounding of a distance counts tenfold."
)

N = Dim(131072, low=110755, high=147456, cpu=4096)
D = Dim(64, low=56, high=80, align=8, cpu=24)
K = Dim(64, low=56, high=80, align=8, cpu=16)


class Model(nn.Module):
    def __init__(self, clusters: int, features: int):
        super().__init__()
        self.mean = nn.Parameter(torch.randn(clusters, features))
        self.spread = nn.Parameter(torch.randn(clusters, features))
        self.share = nn.Parameter(torch.randn(clusters))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        mean, variance, share = self.mean, functional.softplus(self.spread) + 0.1, torch.softmax(self.share, 0)
        for _ in range(2):
            scaled = mean / variance
            far = x.square() @ (1 / variance).T - 2 * (x @ scaled.T) + (mean * scaled).sum(1)
            weight = torch.softmax(share.log() - 0.5 * (far + variance.log().sum(1)), -1)
            total = weight.sum(0) + 1e-3
            mean = weight.T @ x / total[:, None]
            variance = (weight.T @ x.square() / total[:, None] - mean.square()).clamp_min(0) + 0.1
            share = total / total.sum()
        return mean, variance, share


def get_inputs(N=N, D=D):
    return [torch.randn(N, D)]


def get_init_inputs(K=K, D=D):
    return [K, D]


def min_bytes(N=N, D=D, K=K, itemsize=4):
    return (N * D + 2 * K * D + K + 2 * K * D + K) * itemsize


def flops(N=N, D=D, K=K):
    return 16 * N * K * D
