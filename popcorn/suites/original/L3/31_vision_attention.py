"""Attention over the places of an image, residual, layer norm: x (B, D, S, S) → the same shape, H heads."""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "vision"
DIFFERENTIABLE = True

B = Dim(16, fixed=True, cpu=2)
D = Dim(128, fixed=True, cpu=64)
S = Dim(64, fixed=True, cpu=16)
H = Dim(4, fixed=True, cpu=4)


class Model(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        nn.init.normal_(self.norm.weight, 1.0, 0.2)
        nn.init.normal_(self.norm.bias, 0.0, 0.2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, width, side, _ = x.shape
        tokens = x.flatten(2).transpose(1, 2)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(tokens).chunk(3, -1))
        mixed = self.out(functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(-2))
        return self.norm(tokens + mixed).transpose(1, 2).reshape(batch, width, side, side)


def get_inputs(B=B, D=D, S=S):
    return [torch.randn(B, D, S, S)]


def get_init_inputs(D=D, H=H):
    return [D, H]


def min_bytes(B=B, D=D, S=S, itemsize=4):
    return (2 * B * D * S * S + 4 * D * D + 6 * D) * itemsize


def flops(B=B, D=D, S=S):
    return 2 * B * S * S * 4 * D * D + 4 * B * S**4 * D
