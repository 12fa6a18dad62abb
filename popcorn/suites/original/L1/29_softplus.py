"""Softplus: x (B, D) → log(1 + exp(x))."""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "activation"
DIFFERENTIABLE = True

B = Dim(8192, fixed=True, cpu=1024)
D = Dim(8192, fixed=True, cpu=2048)


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.softplus(x)


def get_inputs(B=B, D=D):
    return [torch.randn(B, D)]


def get_init_inputs():
    return []


def min_bytes(B=B, D=D, itemsize=4):
    return 2 * B * D * itemsize


def flops(B=B, D=D):
    return 4 * B * D
