"""Linear layer, then norm of every row, a second input added and multiplied: x (B, CI) → (norm(y) + other) · other, other (B, CO), eps
1e-5, (B, CO).

y = x · weightᵀ + bias.
"""

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

    def forward(self, x: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        y = (y - y.mean(1, keepdim=True)) * torch.rsqrt(y.var(1, keepdim=True, correction=0) + 1e-5)
        return (y + other) * other


def get_inputs(B=B, CI=CI, CO=CO):
    return [torch.randn(B, CI), torch.randn(B, CO)]


def get_init_inputs(CI=CI, CO=CO):
    return [CI, CO]


def min_bytes(B=B, CI=CI, CO=CO, itemsize=4):
    return (B * CI + 2 * B * CO + CI * CO + CO) * itemsize


def flops(B=B, CI=CI, CO=CO):
    return 2 * B * CI * CO
