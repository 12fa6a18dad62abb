"""Attention along rows plus attention along columns of an image: x (B, S, W, C) → the same shape, H heads each."""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "vision"
DIFFERENTIABLE = True

B = Dim(4, low=2, high=5, cpu=1)
S = Dim(64, low=54, high=72, cpu=24)
W = Dim(64, low=54, high=72, cpu=32)
C = Dim(256, low=224, high=320, align=32, cpu=64)
H = Dim(8, fixed=True, cpu=4)


class Model(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.rows = nn.Linear(width, 3 * width, bias=False)
        self.columns = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def along(x: torch.Tensor, qkv: nn.Linear) -> torch.Tensor:
            q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(2, 3) for part in qkv(x).chunk(3, -1))
            return functional.scaled_dot_product_attention(q, k, v).transpose(2, 3).flatten(-2)

        return self.out(along(x, self.rows) + along(x.transpose(1, 2), self.columns).transpose(1, 2))


def get_inputs(B=B, S=S, W=W, C=C):
    return [torch.randn(B, S, W, C)]


def get_init_inputs(C=C, H=H):
    return [C, H]


def min_bytes(B=B, S=S, W=W, C=C, itemsize=4):
    return (2 * B * S * W * C + 7 * C * C + C) * itemsize


def flops(B=B, S=S, W=W, C=C):
    return 14 * B * S * W * C * C + 4 * B * S * W * C * (S + W)
