"""Two linear layers with a logistic function between, and the log of a sum: x (B, CI) → (B).

log Σ exp(σ(x · W₁ᵀ + b₁) · W₂ᵀ + b₂).
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "linear algebra"
DIFFERENTIABLE = True

B = Dim(16384, fixed=True, cpu=1024)
CI = Dim(2048, fixed=True, cpu=256)
F = Dim(4096, fixed=True, cpu=512)
CO = Dim(1024, fixed=True, cpu=128)


class Model(nn.Module):
    def __init__(self, in_features: int, hidden: int, out_features: int):
        super().__init__()
        self.first = nn.Linear(in_features, hidden)
        self.second = nn.Linear(hidden, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.logsumexp(self.second(torch.sigmoid(self.first(x))), 1)


def get_inputs(B=B, CI=CI):
    return [torch.randn(B, CI)]


def get_init_inputs(CI=CI, F=F, CO=CO):
    return [CI, F, CO]


def min_bytes(B=B, CI=CI, F=F, CO=CO, itemsize=4):
    return (B * CI + CI * F + F + F * CO + CO + B) * itemsize


def flops(B=B, CI=CI, F=F, CO=CO):
    return 2 * B * F * (CI + CO)
