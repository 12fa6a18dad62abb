"""Blocks that mix tokens inside windows by a matrix, every other one shifted by half a window: x (B, S, S, D) → the same shape, window
8, L blocks.
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
L = Dim(4, fixed=True, cpu=4)


class Block(nn.Module):
    """Layer norm, a 64 × 64 matrix over each window's places, residual; layer norm, MLP, residual."""

    def __init__(self, width: int, shift: int):
        super().__init__()
        self.shift = shift
        self.first, self.second = norm(width), norm(width)
        self.mix = nn.Linear(64, 64)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, side, _, width = x.shape
        moved = self.first(x).roll((-self.shift, -self.shift), (1, 2))
        windows = moved.view(batch, side // 8, 8, side // 8, 8, width).permute(0, 1, 3, 5, 2, 4).flatten(-2)
        mixed = self.mix(windows).unflatten(-1, (8, 8)).permute(0, 1, 4, 2, 5, 3).reshape(batch, side, side, width)
        x = x + mixed.roll((self.shift, self.shift), (1, 2))
        return x + self.down(functional.gelu(self.up(self.second(x))))


def norm(width: int) -> nn.LayerNorm:
    layer = nn.LayerNorm(width)
    nn.init.normal_(layer.weight, 1.0, 0.2)
    nn.init.normal_(layer.bias, 0.0, 0.2)
    return layer


class Model(nn.Module):
    def __init__(self, width: int, depth: int):
        super().__init__()
        self.blocks = nn.Sequential(*[Block(width, 4 * (index % 2)) for index in range(depth)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.blocks(x)


def get_inputs(B=B, S=S, D=D):
    return [torch.randn(B, S, S, D)]


def get_init_inputs(D=D, L=L):
    return [D, L]


def min_bytes(B=B, S=S, D=D, L=L, itemsize=4):
    return (2 * B * S * S * D + L * (64 * 64 + 64 + 8 * D * D + 9 * D)) * itemsize


def flops(B=B, S=S, D=D, L=L):
    return 2 * B * S * S * D * L * (64 + 8 * D)
