"""Many narrow layers: x (B, D) → N times linear and ReLU, width F, then linear → (B, K)."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim
import itertools

DOMAIN = "mlp"
DIFFERENTIABLE = True

B = Dim(16384, fixed=True, cpu=1024)
D = Dim(1024, fixed=True, cpu=256)
F = Dim(1024, fixed=True, cpu=128)
K = Dim(512, fixed=True, cpu=128)
N = Dim(16, fixed=True, cpu=8)


class Model(nn.Module):
    def __init__(self, width: int, hidden: int, out_features: int, depth: int):
        super().__init__()
        sizes = [width] + [hidden] * depth
        self.layers = nn.Sequential()
        for before, after in itertools.pairwise(sizes):
            layer = nn.Linear(before, after)
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            self.layers.extend([layer, nn.ReLU()])
        self.layers.append(nn.Linear(hidden, out_features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def get_inputs(B=B, D=D):
    return [torch.randn(B, D)]


def get_init_inputs(D=D, F=F, K=K, N=N):
    return [D, F, K, N]


def min_bytes(B=B, D=D, F=F, K=K, N=N, itemsize=4):
    return (B * D + D * F + (N - 1) * F * F + F * K + N * F + K + B * K) * itemsize


def flops(B=B, D=D, F=F, K=K, N=N):
    return 2 * B * (D * F + (N - 1) * F * F + F * K)
