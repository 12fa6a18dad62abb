"""Linear layer, then group norm, swish, scale, swish: x (B, CI) → swish(scale · swish(group_norm(y))), 64 features a group, (B, CO).

y = x · weightᵀ + bias.
"""

import torch
from torch import nn
from torch.nn import functional

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
        self.norm = nn.GroupNorm(out_features // 64, out_features)
        nn.init.normal_(self.norm.weight, 1.0, 0.2)
        nn.init.normal_(self.norm.bias, 0.0, 0.2)
        self.scale = nn.Parameter(torch.randn(out_features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        y = functional.silu(self.norm(y)) * self.scale
        return functional.silu(y)


def get_inputs(B=B, CI=CI):
    return [torch.randn(B, CI)]


def get_init_inputs(CI=CI, CO=CO):
    return [CI, CO]


def min_bytes(B=B, CI=CI, CO=CO, itemsize=4):
    return (B * CI + CI * CO + CO + 3 * CO + B * CO) * itemsize


def flops(B=B, CI=CI, CO=CO):
    return 2 * B * CI * CO
