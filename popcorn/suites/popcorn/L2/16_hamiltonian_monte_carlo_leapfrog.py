"""Four leapfrog steps on a Gaussian with precision P = L Lᵀ: position q, momentum p (B, D) → both after the steps, step size 0.1."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "bayesian"
DIFFERENTIABLE = True

B = Dim(32768, low=27688, high=36864, cpu=1024)
D = Dim(256, low=216, high=288, align=8, cpu=96)


class Model(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.factor = nn.Parameter(torch.randn(features, features) / features**0.5)

    def forward(self, q: torch.Tensor, p: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        step, precision = 0.1, self.factor @ self.factor.T
        p = p - 0.5 * step * (q @ precision)
        for _ in range(3):
            q = q + step * p
            p = p - step * (q @ precision)
        q = q + step * p
        return q, p - 0.5 * step * (q @ precision)


def get_inputs(B=B, D=D):
    return [torch.randn(B, D), torch.randn(B, D)]


def get_init_inputs(D=D):
    return [D]


def min_bytes(B=B, D=D, itemsize=4):
    return (4 * B * D + D * D) * itemsize


def flops(B=B, D=D):
    return 10 * B * D * D + 2 * D**3
