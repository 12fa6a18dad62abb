"""A residual: x (B, D), r (B, D) → tanh(x) + r. The gradient of r is the incoming one."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "activation"
DIFFERENTIABLE = True
B = Dim(48, low=32, high=64)
D = Dim(96, low=80, high=112)


class Model(nn.Module):
    def forward(self, x: torch.Tensor, r: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x) + r


def get_inputs(B=B, D=D):
    return [torch.randn(B, D), torch.randn(B, D)]


def get_init_inputs():
    return []


def min_bytes(B=B, D=D, itemsize=4):
    return 3 * B * D * itemsize


def flops(B=B, D=D):
    return 6 * B * D
