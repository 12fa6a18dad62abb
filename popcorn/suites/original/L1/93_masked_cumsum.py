"""Running sum of the elements that a mask keeps: x (B, D), keep (B, D) int64 of 0 and 1."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "scan"
DIFFERENTIABLE = True

B = Dim(8192, fixed=True, cpu=1024)
D = Dim(4096, fixed=True, cpu=1024)


class Model(nn.Module):
    def forward(self, x: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        return torch.cumsum(x * keep, dim=-1)


def get_inputs(B=B, D=D):
    return [torch.randn(B, D), torch.randint(0, 2, (B, D))]


def get_init_inputs():
    return []


def min_bytes(B=B, D=D, itemsize=4):
    return 2 * B * D * itemsize + 8 * B * D


def flops(B=B, D=D):
    return 2 * B * D
