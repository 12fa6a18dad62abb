"""A Mamba block: projection, causal depthwise convolution, selective scan, gate, projection.

x (B, T, D) → (B, T, D). Inner width 2·D, N states per channel, steps Δ of rank RANK, convolution of width W.
The reference runs the recurrence by doubling, in log2(T) steps.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "state space"
DIFFERENTIABLE = True

B = Dim(2, low=1, high=3, cpu=1)
T = Dim(1024, low=832, high=1152, cpu=128)
D = Dim(1024, low=880, high=1152, align=16, cpu=64)
N = Dim(16, fixed=True, cpu=16)
RANK = Dim(64, fixed=True, cpu=8)
W = Dim(4, fixed=True, cpu=4)


def scan(decay: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
    """h_t = decay_t · h_{t−1} + h_t along the last dimension."""
    step = 1
    while step < h.shape[-1]:
        h = torch.cat((h[..., :step], h[..., step:] + decay[..., step:] * h[..., :-step]), dim=-1)
        decay = torch.cat((decay[..., :step], decay[..., step:] * decay[..., :-step]), dim=-1)
        step *= 2
    return h


class Model(nn.Module):
    def __init__(self, width: int, states: int, rank: int, filter_width: int):
        super().__init__()
        inner = 2 * width
        self.sizes = (rank, states, states)
        self.filter_width = filter_width
        self.enter = nn.Linear(width, 2 * inner, bias=False)
        self.conv = nn.Conv1d(inner, inner, filter_width, groups=inner)
        self.select = nn.Linear(inner, rank + 2 * states, bias=False)
        self.step = nn.Linear(rank, inner)
        self.log_a = nn.Parameter(torch.log(torch.arange(1.0, states + 1)).repeat(inner, 1) + 0.1 * torch.randn(inner, states))
        self.skip = nn.Parameter(torch.randn(inner))
        self.leave = nn.Linear(inner, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x, z = self.enter(x).transpose(1, 2).chunk(2, dim=1)
        x = functional.silu(self.conv(functional.pad(x, (self.filter_width - 1, 0))))
        step, b, c = self.select(x.transpose(1, 2)).split(self.sizes, dim=-1)
        delta = functional.softplus(self.step(step)).transpose(1, 2)
        decay = torch.exp(delta[:, :, None] * -self.log_a.exp()[:, :, None])
        h = scan(decay, (delta * x)[:, :, None] * b.transpose(1, 2)[:, None])
        y = (h * c.transpose(1, 2)[:, None]).sum(2) + self.skip[:, None] * x
        return self.leave((y * functional.silu(z)).transpose(1, 2))


def get_inputs(B=B, T=T, D=D):
    return [torch.randn(B, T, D)]


def get_init_inputs(D=D, N=N, RANK=RANK, W=W):
    return [D, N, RANK, W]


def min_bytes(B=B, T=T, D=D, N=N, RANK=RANK, W=W, itemsize=4):
    inner = 2 * D
    weights = 2 * D * inner + inner * (W + 1) + inner * (RANK + 2 * N) + (RANK + 1) * inner + inner * N + inner + inner * D
    return (2 * B * T * D + weights) * itemsize


def flops(B=B, T=T, D=D, N=N, RANK=RANK, W=W):
    inner = 2 * D
    products = 2 * D * inner + inner * W + inner * (RANK + 2 * N) + RANK * inner + inner * D
    return 2 * B * T * products
