"""Running product along the last dimension: x (B, D) → out[b, d] = Π_{i ≤ d} f(x[b, i]).

f(x) = 1 + tanh(x) / 64 keeps products of thousands of factors in range.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "scan"
DIFFERENTIABLE = True
TOLERANCE = {"float32": 1e-4}
TOLERANCE_WHY = "A product of thousands of rounded factors drifts with the square root of their number, in any order."

B = Dim(16384, fixed=True, cpu=1024)
D = Dim(4096, fixed=True, cpu=1024)


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cumprod(1 + torch.tanh(x) / 64, dim=-1)


def get_inputs(B=B, D=D):
    return [torch.randn(B, D)]


def get_init_inputs():
    return []


def min_bytes(B=B, D=D, itemsize=4):
    return 2 * B * D * itemsize


def flops(B=B, D=D):
    return 8 * B * D
