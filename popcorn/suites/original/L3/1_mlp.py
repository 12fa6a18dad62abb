"""A multi-layer perceptron: x (B, D) → linear, ReLU, linear, ReLU, linear → (B, D), hidden width F."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "mlp"
DIFFERENTIABLE = True

B = Dim(4096, fixed=True, cpu=256)
D = Dim(1024, fixed=True, cpu=256)
F = Dim(4096, fixed=True, cpu=1024)


class Model(nn.Module):
    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def get_inputs(B=B, D=D):
    return [torch.randn(B, D)]


def get_init_inputs(D=D, F=F):
    return [D, F]


def min_bytes(B=B, D=D, F=F, itemsize=4):
    return (2 * B * D + 2 * D * F + F * F + 2 * F + D) * itemsize


def flops(B=B, D=D, F=F):
    return 2 * B * (2 * D * F + F * F)
