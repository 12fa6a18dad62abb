"""Logarithm of the softmax along the last dimension: x (B, D) → x − log Σ exp(x)."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "activation"
DIFFERENTIABLE = True

B = Dim(8192, fixed=True, cpu=1024)
D = Dim(8192, fixed=True, cpu=2048)


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.log_softmax(x, dim=-1)


def get_inputs(B=B, D=D):
    return [torch.randn(B, D)]


def get_init_inputs():
    return []


def min_bytes(B=B, D=D, itemsize=4):
    return 2 * B * D * itemsize


def flops(B=B, D=D):
    return 5 * B * D
