"""Selective scan of a state-space model, with its skip and its gate.

x, delta, z (B, C, T), b, c (B, N, T) → (B, C, T). With Δ = softplus(delta + bias) and A = −exp(log_a) (C, N):
h_t = exp(Δ_t A) · h_{t−1} + Δ_t b_t x_t, out_t = (Σ_n c_t[n] h_t[n] + skip · x_t) · silu(z_t).
The reference runs the recurrence by doubling, in log2(T) steps.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "state space"
DIFFERENTIABLE = True

B = Dim(4, low=2, high=6, cpu=1)
C = Dim(1536, low=1240, high=1792, align=8, cpu=64)
T = Dim(1024, low=832, high=1152, cpu=256)
N = Dim(16, fixed=True, cpu=16)


def scan(decay: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
    """h_t = decay_t · h_{t−1} + h_t along the last dimension."""
    step = 1
    while step < h.shape[-1]:
        h = torch.cat((h[..., :step], h[..., step:] + decay[..., step:] * h[..., :-step]), dim=-1)
        decay = torch.cat((decay[..., :step], decay[..., step:] * decay[..., :-step]), dim=-1)
        step *= 2
    return h


class Model(nn.Module):
    def __init__(self, channels: int, states: int):
        super().__init__()
        self.log_a = nn.Parameter(torch.log(torch.arange(1.0, states + 1)).repeat(channels, 1) + 0.1 * torch.randn(channels, states))
        self.bias = nn.Parameter(torch.rand(channels) * 2 - 3)
        self.skip = nn.Parameter(torch.randn(channels))

    def forward(self, x: torch.Tensor, delta: torch.Tensor, z: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        delta = functional.softplus(delta + self.bias[:, None])
        decay = torch.exp(delta[:, :, None] * -self.log_a.exp()[:, :, None])
        h = scan(decay, (delta * x)[:, :, None] * b[:, None])
        y = (h * c[:, None]).sum(2) + self.skip[:, None] * x
        return y * functional.silu(z)


def get_inputs(B=B, C=C, T=T, N=N):
    wide, narrow = (B, C, T), (B, N, T)
    return [torch.randn(*wide), torch.randn(*wide), torch.randn(*wide), torch.randn(*narrow), torch.randn(*narrow)]


def get_init_inputs(C=C, N=N):
    return [C, N]


def min_bytes(B=B, C=C, T=T, N=N, itemsize=4):
    return (4 * B * C * T + 2 * B * N * T + C * (N + 2)) * itemsize


def flops(B=B, C=C, T=T, N=N):
    return 7 * B * C * T * N
