"""A genomic model whose blocks scan the sequence in both directions with shared weights: tokens (B, T) int64 in [0, 12) → logits (B, T,
12).

Block: linear recurrence with decay σ(W_a x) of inputs W_i x, forwards and backwards, added, gated by SiLU, projected. The reference runs
the recurrences by doubling.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "genomics"
DIFFERENTIABLE = True

B = Dim(2, low=1, high=3, cpu=1)
T = Dim(4096, low=3461, high=4608, cpu=128)
D = Dim(256, fixed=True, cpu=64)
L = Dim(4, fixed=True, cpu=2)


def scan(decay: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
    """h_t = decay_t · h_{t−1} + h_t along the last dimension, by doubling."""
    step = 1
    while step < h.shape[-1]:
        h = torch.cat((h[..., :step], h[..., step:] + decay[..., step:] * h[..., :-step]), dim=-1)
        decay = torch.cat((decay[..., :step], decay[..., step:] * decay[..., :-step]), dim=-1)
        step *= 2
    return h


class Block(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.enter, self.leave = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.shift = nn.Parameter(2 + torch.randn(width, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        decay, value, gate = self.enter(functional.rms_norm(x, x.shape[-1:], eps=1e-6)).transpose(1, 2).chunk(3, 1)
        decay = torch.sigmoid(decay + self.shift)
        both = scan(decay, value) + scan(decay.flip(-1), value.flip(-1)).flip(-1)
        return x + self.leave((both * functional.silu(gate)).transpose(1, 2))


class Model(nn.Module):
    def __init__(self, width: int, depth: int):
        super().__init__()
        self.embedding = nn.Parameter(torch.randn(12, width))
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding[tokens]
        for block in self.blocks:
            x = block(x)
        return x @ self.embedding.T


def get_inputs(B=B, T=T):
    return [torch.randint(0, 12, (B, T))]


def get_init_inputs(D=D, L=L):
    return [D, L]


def min_bytes(B=B, T=T, D=D, L=L, itemsize=4):
    return (L * (4 * D * D + D) + 12 * D + B * T * 12) * itemsize + 8 * B * T


def flops(B=B, T=T, D=D, L=L):
    return 2 * B * T * (L * 4 * D * D + 12 * D) + 6 * B * T * D * L
