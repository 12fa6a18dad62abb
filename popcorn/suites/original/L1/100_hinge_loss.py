"""Hinge loss of every element: score (B, D), target (D) int64 of 0 and 1 → max(1 − score · (2 · target − 1), 0)."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "loss"
DIFFERENTIABLE = True

B = Dim(16384, fixed=True, cpu=1024)
D = Dim(4096, fixed=True, cpu=2048)


class Model(nn.Module):
    def forward(self, score: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return torch.relu(1 - score * (2 * target - 1))


def get_inputs(B=B, D=D):
    return [torch.randn(B, D), torch.randint(0, 2, (D,))]


def get_init_inputs():
    return []


def min_bytes(B=B, D=D, itemsize=4):
    return 2 * B * D * itemsize + 8 * D


def flops(B=B, D=D):
    return 3 * B * D
