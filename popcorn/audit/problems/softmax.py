"""Softmax along the last dimension: x (B, D) → exp(x − max) / Σ exp(x − max)."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "activation"
DIFFERENTIABLE = True
B = Dim(48, low=32, high=64)
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
