"""A decoder block: layer norm, causal attention, residual; layer norm, MLP with GELU, residual.

x (B, T, D) → (B, T, D), H heads of size D / H, MLP of width 4·D, GELU by tanh.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "transformer"
DIFFERENTIABLE = True

B = Dim(4, fixed=True, cpu=2)
T = Dim(1024, fixed=True, cpu=128)
D = Dim(1024, fixed=True, cpu=256)
H = Dim(16, fixed=True, cpu=4)


def _norm(width: int) -> nn.LayerNorm:
    norm = nn.LayerNorm(width)
    nn.init.normal_(norm.weight, 1.0, 0.2)
    nn.init.normal_(norm.bias, 0.0, 0.2)
    return norm


class Model(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.before_attention = _norm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width)
        self.before_mlp = _norm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def attend(self, x: torch.Tensor) -> torch.Tensor:
        batch, time, width = x.shape
        q, k, v = (part.view(batch, time, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, time, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attend(self.before_attention(x))
        return x + self.down(functional.gelu(self.up(self.before_mlp(x)), approximate="tanh"))


def get_inputs(B=B, T=T, D=D):
    return [torch.randn(B, T, D)]


def get_init_inputs(D=D, H=H):
    return [D, H]


def min_bytes(B=B, T=T, D=D, itemsize=4):
    return (2 * B * T * D + 12 * D * D + 10 * D) * itemsize


def flops(B=B, T=T, D=D):
    return 2 * B * T * 12 * D * D + 4 * B * D * T * (T + 1) // 2
