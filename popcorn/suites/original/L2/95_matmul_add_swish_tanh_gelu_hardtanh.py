"""Linear layer, then bias and four activations: x (B, CI) → clamp(gelu(tanh(swish(y + shift))), −0.1, 0.6), (B, CO).

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
        self.shift = nn.Parameter(torch.randn(out_features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        y = torch.tanh(functional.silu(y + self.shift))
        return functional.gelu(y).clamp(-0.1, 0.6)


def get_inputs(B=B, CI=CI):
    return [torch.randn(B, CI)]


def get_init_inputs(CI=CI, CO=CO):
    return [CI, CO]


def min_bytes(B=B, CI=CI, CO=CO, itemsize=4):
    return (B * CI + CI * CO + CO + CO + B * CO) * itemsize


def flops(B=B, CI=CI, CO=CO):
    return 2 * B * CI * CO
