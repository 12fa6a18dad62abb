"""A step of random-walk Metropolis on a Gaussian: move where the density ratio beats a uniform number.

x, noise (B, D), u (B) in [0, 1) → (the chains after the step (B, D), their log density (B)); log p(x) = −½ xᵀ P x with P = L Lᵀ.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "bayesian"
DIFFERENTIABLE = False

B = Dim(65536, low=55377, high=73728, cpu=2048)
D = Dim(128, low=112, high=152, align=8, cpu=64)


class Model(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.factor = nn.Parameter(torch.randn(features, features) / features**0.5)

    def forward(self, x: torch.Tensor, noise: torch.Tensor, u: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        moved = x + 0.1 * noise
        before = -0.5 * (x @ self.factor).square().sum(-1)
        after = -0.5 * (moved @ self.factor).square().sum(-1)
        taken = u < torch.exp((after - before).clamp_max(0))
        return torch.where(taken[:, None], moved, x), torch.where(taken, after, before)


def get_inputs(B=B, D=D):
    return [torch.randn(B, D), torch.randn(B, D), torch.rand(B)]


def get_init_inputs(D=D):
    return [D]


def min_bytes(B=B, D=D, itemsize=4):
    return (3 * B * D + 2 * B + D * D) * itemsize


def flops(B=B, D=D):
    return 4 * B * D * D
