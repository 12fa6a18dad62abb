"""Rotary position embedding over the two halves of every head.

x (B, T, H, HD) → the same shape. With (a, b) the first and second half of a head at position t:
out = (a·cos − b·sin, b·cos + a·sin), angles t·10000^(−2i/HD) held as tables in the model.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "attention"
DIFFERENTIABLE = True
NONCONTIGUOUS = True
NOTES = "x may be a view of a larger projection: strides are not always those of a contiguous tensor."

B = Dim(8, low=6, high=10, cpu=4)
T = Dim(4096, low=3072, high=4480, cpu=512)
H = Dim(16, low=12, high=20, cpu=8)
HD = Dim(128, fixed=True, cpu=128)


class Model(nn.Module):
    def __init__(self, positions: int, head_size: int):
        super().__init__()
        rate = 10000.0 ** (-torch.arange(0, head_size, 2, dtype=torch.float64) / head_size)
        angle = torch.outer(torch.arange(positions, dtype=torch.float64), rate)
        self.register_buffer("cos", angle.cos().to(torch.get_default_dtype()))
        self.register_buffer("sin", angle.sin().to(torch.get_default_dtype()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        cos, sin = self.cos[:, None, :], self.sin[:, None, :]
        first, second = x.chunk(2, dim=-1)
        return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


def get_inputs(B=B, T=T, H=H, HD=HD):
    return [torch.randn(B, T, H, HD)]


def get_init_inputs(T=T, HD=HD):
    return [T, HD]


def min_bytes(B=B, T=T, H=H, HD=HD, itemsize=4):
    return (2 * B * T * H * HD + T * HD) * itemsize


def flops(B=B, T=T, H=H, HD=HD):
    return 3 * B * T * H * HD
