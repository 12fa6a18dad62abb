"""A vision transformer: patches of 16, L blocks of width D, mean over patches, classifier: x (B, 3, S, S) → (B, K), H heads."""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "vision"
DIFFERENTIABLE = True

B = Dim(32, fixed=True, cpu=1)
S = Dim(224, fixed=True, cpu=64)
D = Dim(768, fixed=True, cpu=128)
H = Dim(12, fixed=True, cpu=4)
L = Dim(12, fixed=True, cpu=4)
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
    def __init__(self, side: int, width: int, heads: int, depth: int, classes: int):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 16, 16)
        self.place = nn.Parameter(0.2 * torch.randn((side // 16) ** 2, width))
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(depth)])
        self.norm = norm(width)
        self.out = nn.Linear(width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2) + self.place
        return self.out(self.norm(self.blocks(x)).mean(1))


def get_inputs(B=B, S=S):
    return [torch.randn(B, 3, S, S)]


def get_init_inputs(S=S, D=D, H=H, L=L, K=K):
    return [S, D, H, L, K]


def min_bytes(B=B, S=S, D=D, L=L, K=K, itemsize=4):
    weights = 768 * D + D + (S // 16) ** 2 * D + L * (12 * D * D + 13 * D) + 2 * D + D * K + K
    return (B * 3 * S * S + weights + B * K) * itemsize


def flops(B=B, S=S, D=D, L=L, K=K):
    tokens = (S // 16) ** 2
    return 2 * B * (tokens * (768 * D + L * 12 * D * D) + L * 2 * tokens * tokens * D + D * K)
