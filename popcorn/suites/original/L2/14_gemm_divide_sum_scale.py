"""Linear layer, then division, sum, scale: x (B, CI) → 0.75 · Σ over features of y² / 2, (B, 1). y = x · weightᵀ + bias."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "linear algebra"
DIFFERENTIABLE = True

B = Dim(8192, fixed=True, cpu=512)
CI = Dim(2048, fixed=True, cpu=384)
CO = Dim(4096, fixed=True, cpu=768)


class Model(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        return 0.75 * (y.square() / 2).sum(1, keepdim=True)


def get_inputs(B=B, CI=CI):
    return [torch.randn(B, CI)]


def get_init_inputs(CI=CI, CO=CO):
    return [CI, CO]


def min_bytes(B=B, CI=CI, CO=CO, itemsize=4):
    return (B * CI + CI * CO + CO + B * 1) * itemsize


def flops(B=B, CI=CI, CO=CO):
    return 2 * B * CI * CO
