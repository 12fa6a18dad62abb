"""Running sum from the end: x (B, D) → out[b, d] = Σ_{i ≥ d} x[b, i]."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "scan"
DIFFERENTIABLE = True

B = Dim(16384, fixed=True, cpu=1024)
D = Dim(4096, fixed=True, cpu=2048)


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cumsum(x.flip(-1), dim=-1).flip(-1)


def get_inputs(B=B, D=D):
    return [torch.randn(B, D)]


def get_init_inputs():
    return []


def min_bytes(B=B, D=D, itemsize=4):
    return 2 * B * D * itemsize


def flops(B=B, D=D):
    return B * D
