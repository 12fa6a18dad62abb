"""Causal attention with its projections: x (B, T, D) → (B, T, D), H heads."""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "transformer"
DIFFERENTIABLE = True

B = Dim(16, fixed=True, cpu=2)
T = Dim(1024, fixed=True, cpu=128)
D = Dim(768, fixed=True, cpu=192)
H = Dim(12, fixed=True, cpu=4)


class Model(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).flatten(-2))


def get_inputs(B=B, T=T, D=D):
    return [torch.randn(B, T, D)]


def get_init_inputs(D=D, H=H):
    return [D, H]


def min_bytes(B=B, T=T, D=D, itemsize=4):
    return (2 * B * T * D + 4 * D * D + 4 * D) * itemsize


def flops(B=B, T=T, D=D):
    return 8 * B * T * D * D + 4 * B * D * T * (T + 1) // 2
