"""The last state of a linear recurrence of scalar decay a head.

x (B, T, H, P), step (B, T, H), b (B, T, N) → (B, H, P, N): S_T of S_t = a_t S_{t−1} + x_t b_tᵀ, a = exp(−softplus(step) · rate).
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "state space"
DIFFERENTIABLE = True

B = Dim(16, fixed=True, cpu=2)
T = Dim(1024, fixed=True, cpu=128)
H = Dim(16, fixed=True, cpu=4)
P = Dim(64, fixed=True, cpu=32)
N = Dim(64, fixed=True, cpu=16)


class Model(nn.Module):
    def __init__(self, heads: int):
        super().__init__()
        self.rate = nn.Parameter(torch.randn(heads) - 4)

    def forward(self, x: torch.Tensor, step: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        total = torch.cumsum(-functional.softplus(step) * self.rate.exp(), 1)
        left = torch.exp(total[:, -1:] - total)
        return torch.einsum("bthp,btn->bhpn", x * left[..., None], b)


def get_inputs(B=B, T=T, H=H, P=P, N=N):
    return [torch.randn(B, T, H, P), torch.randn(B, T, H), torch.randn(B, T, N)]


def get_init_inputs(H=H):
    return [H]


def min_bytes(B=B, T=T, H=H, P=P, N=N, itemsize=4):
    return (B * T * H * P + B * T * H + B * T * N + H + B * H * P * N) * itemsize


def flops(B=B, T=T, H=H, P=P, N=N):
    return 2 * B * T * H * P * N
