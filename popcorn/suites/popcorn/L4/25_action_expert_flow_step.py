"""The action expert of a vision-language-action model: noisy actions look at observations, L times; one velocity out.

actions (B, A, 7), observed (B, N, D), time (B) in [0, 1) → (B, A, 7); attention among actions, cross attention, MLP, width D, H heads.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "robotics"
DIFFERENTIABLE = True

B = Dim(64, low=54, high=72, cpu=2)
A = Dim(50, low=35, high=65, cpu=16)
N = Dim(256, low=216, high=288, cpu=48)
D = Dim(768, fixed=True, cpu=96)
L = Dim(6, fixed=True, cpu=2)
H = Dim(12, fixed=True, cpu=4)


class Block(nn.Module):
    """Attention among the actions, attention to what is observed, MLP; each after a norm and beside a residual."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(norm(width) for _ in range(3))
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.q, self.kv = nn.Linear(width, width, bias=False), nn.Linear(width, 2 * width, bias=False)
        self.cross = nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def attend(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (q, k, v))
        return functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(-2)

    def forward(self, x: torch.Tensor, observed: torch.Tensor) -> torch.Tensor:
        x = x + self.out(self.attend(*self.qkv(self.norms[0](x)).chunk(3, -1)))
        x = x + self.cross(self.attend(self.q(self.norms[1](x)), *self.kv(observed).chunk(2, -1)))
        return x + self.down(functional.gelu(self.up(self.norms[2](x))))


def norm(width: int) -> nn.LayerNorm:
    layer = nn.LayerNorm(width)
    nn.init.normal_(layer.weight, 1.0, 0.2)
    nn.init.normal_(layer.bias, 0.0, 0.2)
    return layer


class Model(nn.Module):
    def __init__(self, width: int, depth: int, heads: int):
        super().__init__()
        self.enter, self.leave = nn.Linear(7, width), nn.Linear(width, 7)
        self.clock = nn.Parameter(torch.randn(width))
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm = norm(width)

    def forward(self, actions: torch.Tensor, observed: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        x = self.enter(actions) + torch.outer(time, self.clock)[:, None]
        for block in self.blocks:
            x = block(x, observed)
        return self.leave(self.norm(x))


def get_inputs(B=B, A=A, N=N, D=D):
    return [torch.randn(B, A, 7), torch.randn(B, N, D), torch.rand(B)]


def get_init_inputs(D=D, L=L, H=H):
    return [D, L, H]


def min_bytes(B=B, A=A, N=N, D=D, L=L, itemsize=4):
    return (2 * B * A * 7 + B * N * D + B + L * 16 * D * D + 15 * D) * itemsize


def flops(B=B, A=A, N=N, D=D, L=L):
    return 2 * B * (A * 14 * D + L * (A * 14 * D * D + N * 2 * D * D)) + 4 * B * A * D * L * (A + N)
