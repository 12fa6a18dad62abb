"""Two hidden layers, very wide: x (B, D) → linear, ReLU, linear, ReLU, linear → (B, K), hidden width F."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "mlp"
DIFFERENTIABLE = True

B = Dim(1024, fixed=True, cpu=128)
D = Dim(4096, fixed=True, cpu=512)
F = Dim(8192, fixed=True, cpu=768)
K = Dim(4096, fixed=True, cpu=256)


class Model(nn.Module):
    def __init__(self, width: int, hidden: int, out_features: int):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, out_features)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def get_inputs(B=B, D=D):
    return [torch.randn(B, D)]


def get_init_inputs(D=D, F=F, K=K):
    return [D, F, K]


def min_bytes(B=B, D=D, F=F, K=K, itemsize=4):
    return (B * D + D * F + F * F + F * K + 2 * F + K + B * K) * itemsize


def flops(B=B, D=D, F=F, K=K):
    return 2 * B * (D * F + F * F + F * K)
