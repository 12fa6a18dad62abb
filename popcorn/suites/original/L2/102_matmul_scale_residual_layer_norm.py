"""Matrix product, scale, residual, layer norm.

x (B, D) → layer_norm(x + scale · (x · weightᵀ)), the norm over D with weight and bias, scale for every feature.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "linear algebra"
DIFFERENTIABLE = True

B = Dim(8192, fixed=True, cpu=512)
D = Dim(2048, fixed=True, cpu=768)


class Model(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(features, features) / features**0.5)
        self.scale = nn.Parameter(0.5 + torch.rand(features))
        self.norm = nn.LayerNorm(features)
        nn.init.normal_(self.norm.weight, 1.0, 0.2)
        nn.init.normal_(self.norm.bias, 0.0, 0.2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x + self.scale * (x @ self.weight.T))


def get_inputs(B=B, D=D):
    return [torch.randn(B, D)]


def get_init_inputs(D=D):
    return [D]


def min_bytes(B=B, D=D, itemsize=4):
    return (2 * B * D + D * D + 3 * D) * itemsize


def flops(B=B, D=D):
    return 2 * B * D * D
