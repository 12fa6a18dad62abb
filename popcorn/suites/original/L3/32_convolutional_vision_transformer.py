"""Patches by overlapping convolution, L transformer blocks, mean over places, classifier: x (B, 3, S, S) → (B, K), kernel 7, stride 4."""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "vision"
DIFFERENTIABLE = True

B = Dim(32, fixed=True, cpu=2)
S = Dim(128, fixed=True, cpu=48)
D = Dim(192, fixed=True, cpu=64)
H = Dim(6, fixed=True, cpu=4)
L = Dim(6, fixed=True, cpu=3)
K = Dim(1000, fixed=True, cpu=64)


class Block(nn.Module):
    """Layer norm, attention, residual; layer norm, MLP of four times the width with GELU, residual."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.first, self.second = norm(width), norm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(self.first(x)).chunk(3, -1))
        x = x + self.out(functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(-2))
        return x + self.down(functional.gelu(self.up(self.second(x))))


def norm(width: int) -> nn.LayerNorm:
    layer = nn.LayerNorm(width)
    nn.init.normal_(layer.weight, 1.0, 0.2)
    nn.init.normal_(layer.bias, 0.0, 0.2)
    return layer


class Model(nn.Module):
    def __init__(self, width: int, heads: int, depth: int, classes: int):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 7, 4, 3)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(depth)])
        self.norm = norm(width)
        self.out = nn.Linear(width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        return self.out(self.norm(self.blocks(x)).mean(1))


def get_inputs(B=B, S=S):
    return [torch.randn(B, 3, S, S)]


def get_init_inputs(D=D, H=H, L=L, K=K):
    return [D, H, L, K]


def min_bytes(B=B, S=S, D=D, L=L, K=K, itemsize=4):
    weights = 148 * D + L * (12 * D * D + 13 * D) + 2 * D + D * K + K
    return (B * 3 * S * S + weights + B * K) * itemsize


def flops(B=B, S=S, D=D, L=L, K=K):
    tokens = (S // 4) ** 2
    return 2 * B * (tokens * (147 * D + L * 12 * D * D) + L * 2 * tokens * tokens * D + D * K)
