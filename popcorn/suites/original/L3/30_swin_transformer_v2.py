"""Attention by cosine inside windows, every other block shifted by half a window: x (B, S, S, D) → the same shape, window 8, L blocks, H
heads.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "vision"
DIFFERENTIABLE = True

B = Dim(32, fixed=True, cpu=2)
S = Dim(64, fixed=True, cpu=16)
D = Dim(192, fixed=True, cpu=64)
H = Dim(6, fixed=True, cpu=4)
L = Dim(4, fixed=True, cpu=4)


class Block(nn.Module):
    """Attention of each window to itself (cosine, learned temperature and bias), norm, residual; MLP, norm, residual."""

    def __init__(self, width: int, heads: int, shift: int):
        super().__init__()
        self.heads, self.shift = heads, shift
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.first, self.second = norm(width), norm(width)
        self.heat = nn.Parameter(2 + 0.2 * torch.randn(heads, 1, 1))
        self.bias = nn.Parameter(0.2 * torch.randn(heads, 64, 64))

    def attend(self, x: torch.Tensor) -> torch.Tensor:
        batch, side, _, width = x.shape
        moved = x.roll((-self.shift, -self.shift), (1, 2))
        windows = moved.view(batch, side // 8, 8, side // 8, 8, width).transpose(2, 3).reshape(-1, 64, width)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(windows).chunk(3, -1))
        scores = functional.normalize(q, dim=-1) @ functional.normalize(k, dim=-1).transpose(-1, -2) * self.heat.exp() + self.bias
        mixed = self.out((torch.softmax(scores, -1) @ v).transpose(1, 2).flatten(-2))
        whole = mixed.view(batch, side // 8, side // 8, 8, 8, width).transpose(2, 3).reshape(batch, side, side, width)
        return whole.roll((self.shift, self.shift), (1, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.first(self.attend(x))
        return x + self.second(self.down(functional.gelu(self.up(x))))


def norm(width: int) -> nn.LayerNorm:
    layer = nn.LayerNorm(width)
    nn.init.normal_(layer.weight, 1.0, 0.2)
    nn.init.normal_(layer.bias, 0.0, 0.2)
    return layer


class Model(nn.Module):
    def __init__(self, width: int, heads: int, depth: int):
        super().__init__()
        self.blocks = nn.Sequential(*[Block(width, heads, 4 * (index % 2)) for index in range(depth)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.blocks(x)


def get_inputs(B=B, S=S, D=D):
    return [torch.randn(B, S, S, D)]


def get_init_inputs(D=D, H=H, L=L):
    return [D, H, L]


def min_bytes(B=B, S=S, D=D, H=H, L=L, itemsize=4):
    return (2 * B * S * S * D + L * (12 * D * D + 13 * D + H + 64 * 64 * H)) * itemsize


def flops(B=B, S=S, D=D, L=L):
    return 2 * B * S * S * L * (12 * D * D + 2 * 64 * D)
