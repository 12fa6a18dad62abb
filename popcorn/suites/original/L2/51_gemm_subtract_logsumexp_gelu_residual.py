"""Linear layer, subtraction, log of a sum, GELU, residual: x (B, D) → x + gelu(log Σ exp(y − shift) − log D), (B, D).

y = x · weightᵀ + bias, (B, D).
"""

import math

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "linear algebra"
DIFFERENTIABLE = True

B = Dim(8192, fixed=True, cpu=512)
D = Dim(4096, fixed=True, cpu=640)


class Model(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.shift = nn.Parameter(torch.randn(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x) - self.shift
        y = torch.logsumexp(y, 1, keepdim=True) - math.log(x.shape[1])
        return x + functional.gelu(y)


def get_inputs(B=B, D=D):
    return [torch.randn(B, D)]


def get_init_inputs(D=D):
    return [D]


def min_bytes(B=B, D=D, itemsize=4):
    return (2 * B * D + D * D + 2 * D) * itemsize


def flops(B=B, D=D):
    return 2 * B * D * D
