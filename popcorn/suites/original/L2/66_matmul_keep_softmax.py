"""Linear layer, then a given dropout mask and softmax: x (B, CI) → softmax over features of (y · keep / 0.9), keep (B, CO) int64 of 0
and 1, (B, CO).

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

    def forward(self, x: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        return torch.softmax(y * keep / 0.9, 1)


def get_inputs(B=B, CI=CI, CO=CO):
    return [torch.randn(B, CI), torch.randint(0, 2, (B, CO))]


def get_init_inputs(CI=CI, CO=CO):
    return [CI, CO]


def min_bytes(B=B, CI=CI, CO=CO, itemsize=4):
    return (B * CI + CI * CO + CO + B * CO) * itemsize + 8 * B * CO


def flops(B=B, CI=CI, CO=CO):
    return 2 * B * CI * CO
