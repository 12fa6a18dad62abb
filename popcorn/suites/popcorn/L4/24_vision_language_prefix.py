"""A vision-language model: patches of an image through L blocks, projected in front of the tokens, then L causal blocks.

x (B, 3, S, S), tokens (B, T) int64 → logits of the tokens (B, T, V); patches of 14, width D, H heads.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "vision language"
DIFFERENTIABLE = True

B = Dim(8, low=5, high=10, cpu=2)
S = Dim(224, fixed=True, cpu=56)
T = Dim(256, low=216, high=288, cpu=24)
V = Dim(32000, fixed=True, cpu=512)
D = Dim(1024, fixed=True, cpu=128)
L = Dim(4, fixed=True, cpu=2)
H = Dim(16, fixed=True, cpu=4)


class Block(nn.Module):
    """Layer norm, attention, residual; layer norm, MLP of four times the width with GELU, residual."""

    def __init__(self, width: int, heads: int, causal: bool):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.first, self.second = norm(width), norm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(self.first(x)).chunk(3, -1))
        x = x + self.out(functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal).transpose(1, 2).flatten(-2))
        return x + self.down(functional.gelu(self.up(self.second(x))))


def norm(width: int) -> nn.LayerNorm:
    layer = nn.LayerNorm(width)
    nn.init.normal_(layer.weight, 1.0, 0.2)
    nn.init.normal_(layer.bias, 0.0, 0.2)
    return layer


class Model(nn.Module):
    def __init__(self, side: int, vocabulary: int, width: int, depth: int, heads: int):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 14, 14)
        self.place = nn.Parameter(0.2 * torch.randn((side // 14) ** 2, width))
        self.eye = nn.Sequential(*[Block(width, heads, False) for _ in range(depth)])
        self.project = nn.Linear(width, width)
        self.embedding = nn.Parameter(torch.randn(vocabulary, width) / width**0.5)
        self.mind = nn.Sequential(*[Block(width, heads, True) for _ in range(depth)])
        self.norm = norm(width)

    def forward(self, x: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        seen = self.eye(self.patches(x).flatten(2).transpose(1, 2) + self.place)
        states = torch.cat((self.project(seen), self.embedding[tokens]), 1)
        return self.norm(self.mind(states))[:, seen.shape[1] :] @ self.embedding.T


def get_inputs(B=B, S=S, T=T, V=V):
    return [torch.randn(B, 3, S, S), torch.randint(0, V, (B, T))]


def get_init_inputs(S=S, V=V, D=D, L=L, H=H):
    return [S, V, D, L, H]


def min_bytes(B=B, S=S, T=T, V=V, D=D, L=L, itemsize=4):
    weights = 588 * D + (S // 14) ** 2 * D + L * 24 * D * D + D * D + V * D
    return (B * 3 * S * S + weights + B * T * V) * itemsize + 8 * B * T


def flops(B=B, S=S, T=T, V=V, D=D, L=L):
    patches = (S // 14) ** 2
    whole = patches + T
    products = patches * (588 * D + L * 12 * D * D + D * D) + whole * L * 12 * D * D + T * V * D
    return 2 * B * products + 2 * B * L * D * (2 * patches * patches + whole * (whole + 1))
