"""Distances as smooth features: K Gaussians, faded out at a cutoff of 5.

vector (E, 3) → (E, K), out[e, k] = exp(−γ (d − centre[k])²) · (1 + cos(π min(d / 5, 1))) / 2, with d = √(|vector|² + 1e-6).
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "scientific"
DIFFERENTIABLE = True

E = Dim(1048576, low=886046, high=1179648, cpu=16384)
K = Dim(64, low=56, high=80, align=8, cpu=64)


class Model(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.centre = nn.Parameter(torch.linspace(0.0, 4.0, features) + 0.05 * torch.randn(features))
        self.gamma = nn.Parameter(1 + torch.rand(1))

    def forward(self, vector: torch.Tensor) -> torch.Tensor:
        distance = (vector.square().sum(-1, keepdim=True) + 1e-6).sqrt()
        fade = (1 + torch.cos(torch.pi * (distance / 5).clamp_max(1))) / 2
        return torch.exp(-self.gamma * (distance - self.centre).square()) * fade


def get_inputs(E=E):
    return [torch.randn(E, 3)]


def get_init_inputs(K=K):
    return [K]


def min_bytes(E=E, K=K, itemsize=4):
    return (E * 3 + K + 1 + E * K) * itemsize


def flops(E=E, K=K):
    return 5 * E * K
