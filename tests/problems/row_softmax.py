"""Softmax of every row, small enough for tests.

x (B, D) → out (B, D).
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DIFFERENTIABLE = True
NONCONTIGUOUS = True

B = Dim(32, low=24, high=40)
D = Dim(96, low=80, high=112)


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, dim=-1)


def get_inputs(B=B, D=D):
    return [torch.randn(B, D)]


def get_init_inputs():
    return []


def min_bytes(B=B, D=D, itemsize=4):
    return 2 * B * D * itemsize


def flops(B=B, D=D):
    return 5 * B * D
