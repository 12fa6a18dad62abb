"""Mean squared error of every row: prediction, target (B, D) → (B).

Rows are not averaged: an average over many rows is almost the same number for any input.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "loss"
DIFFERENTIABLE = True
TOLERANCE = {"float32": 2e-6, "bfloat16": 4e-3}
TOLERANCE_WHY = "Rows have nearly the same mean, so a constant would come near; sums in float32 do far better than this."

B = Dim(16384, fixed=True, cpu=1024)
D = Dim(4096, fixed=True, cpu=1024)


class Model(nn.Module):
    def forward(self, prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return (prediction - target).square().mean(-1)


def get_inputs(B=B, D=D):
    return [torch.randn(B, D), torch.randn(B, D)]


def get_init_inputs():
    return []


def min_bytes(B=B, D=D, itemsize=4):
    return (2 * B * D + B) * itemsize


def flops(B=B, D=D):
    return 3 * B * D
