"""A language model of L Mamba blocks: tokens (B, T) int64 → logits (B, T, V), width D, inner width 2·D, N states per channel.

Block: RMS norm, projection, causal depthwise convolution of width 4, selective scan with steps of rank D / 16, gate, projection, residual.
The reference runs the recurrences by doubling, in log2(T) steps.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "state space"
DIFFERENTIABLE = True

B = Dim(4, low=2, high=6, cpu=1)
T = Dim(512, low=440, high=576, cpu=32)
V = Dim(50280, fixed=True, cpu=512)
D = Dim(768, fixed=True, cpu=64)
L = Dim(4, fixed=True, cpu=2)
N = Dim(16, fixed=True, cpu=16)


def scan(decay: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
    """h_t = decay_t · h_{t−1} + h_t along the last dimension, by doubling."""
    step = 1
    while step < h.shape[-1]:
        h = torch.cat((h[..., :step], h[..., step:] + decay[..., step:] * h[..., :-step]), dim=-1)
        decay = torch.cat((decay[..., :step], decay[..., step:] * decay[..., :-step]), dim=-1)
        step *= 2
    return h


class Block(nn.Module):
    def __init__(self, width: int, states: int):
        super().__init__()
        inner, rank = 2 * width, width // 16
        self.sizes = (rank, states, states)
        self.enter = nn.Linear(width, 2 * inner, bias=False)
        self.conv = nn.Conv1d(inner, inner, 4, groups=inner)
        self.select = nn.Linear(inner, rank + 2 * states, bias=False)
        # by its usual weights the recurrence would be less than bfloat16's rounding
        nn.init.normal_(self.select.weight, 0.0, 2 * inner**-0.5)
        self.step = nn.Linear(rank, inner)
        self.log_a = nn.Parameter(torch.log(torch.arange(1.0, states + 1)).repeat(inner, 1) + 0.1 * torch.randn(inner, states))
        self.skip = nn.Parameter(torch.randn(inner))
        self.leave = nn.Linear(inner, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normed = functional.rms_norm(x, x.shape[-1:], eps=1e-6)
        inner, z = self.enter(normed).transpose(1, 2).chunk(2, dim=1)
        inner = functional.silu(self.conv(functional.pad(inner, (3, 0))))
        step, b, c = self.select(inner.transpose(1, 2)).split(self.sizes, dim=-1)
        delta = functional.softplus(self.step(step)).transpose(1, 2)
        decay = torch.exp(delta[:, :, None] * -self.log_a.exp()[:, :, None])
        h = scan(decay, (delta * inner)[:, :, None] * b.transpose(1, 2)[:, None])
        y = (h * c.transpose(1, 2)[:, None]).sum(2) + self.skip[:, None] * inner
        return x + self.leave((y * functional.silu(z)).transpose(1, 2))


class Model(nn.Module):
    def __init__(self, vocabulary: int, width: int, depth: int, states: int):
        super().__init__()
        self.embedding = nn.Parameter(0.1 * torch.randn(vocabulary, width))
        self.blocks = nn.ModuleList(Block(width, states) for _ in range(depth))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding[tokens]
        for block in self.blocks:
            x = block(x)
        return functional.rms_norm(x, x.shape[-1:], eps=1e-6) @ self.embedding.T


def get_inputs(B=B, T=T, V=V):
    return [torch.randint(0, V, (B, T))]


def get_init_inputs(V=V, D=D, L=L, N=N):
    return [V, D, L, N]


def min_bytes(B=B, T=T, V=V, D=D, L=L, N=N, itemsize=4):
    inner, rank = 2 * D, D // 16
    block = 2 * D * inner + 5 * inner + inner * (rank + 2 * N) + (rank + 1) * inner + inner * N + inner + inner * D
    return (V * D + L * block + B * T * V) * itemsize + 8 * B * T


def flops(B=B, T=T, V=V, D=D, L=L, N=N):
    inner, rank = 2 * D, D // 16
    block = 2 * D * inner + 4 * inner + inner * (rank + 2 * N) + rank * inner + inner * D
    return 2 * B * T * (L * block + V * D)
