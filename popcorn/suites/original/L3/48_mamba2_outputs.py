"""State-space duality: a linear recurrence of scalar decay a head, as one masked product.

x (B, T, H, P), step (B, T, H), b, c (B, T, N) → (B, T, H, P): S_t = a_t S_{t−1} + x_t b_tᵀ, out_t = S_t c_t, a = exp(−softplus(step) ·
rate).
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "state space"
DIFFERENTIABLE = True
FLOPS_WHY = "The recurrence needs these; the reference multiplies out all pairs of times."

B = Dim(16, fixed=True, cpu=2)
T = Dim(1024, fixed=True, cpu=128)
H = Dim(16, fixed=True, cpu=4)
P = Dim(64, fixed=True, cpu=32)
N = Dim(64, fixed=True, cpu=16)


class Model(nn.Module):
    def __init__(self, heads: int):
        super().__init__()
        self.rate = nn.Parameter(torch.randn(heads) - 4)

    def forward(self, x: torch.Tensor, step: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        total = torch.cumsum(-functional.softplus(step) * self.rate.exp(), 1)
        by_head = total.transpose(1, 2)
        decay = torch.exp(torch.tril(by_head[..., :, None] - by_head[..., None, :]))
        weight = torch.tril((c @ b.transpose(1, 2))[:, None] * decay)
        return (weight @ x.transpose(1, 2)).transpose(1, 2).contiguous()


def get_inputs(B=B, T=T, H=H, P=P, N=N):
    return [torch.randn(B, T, H, P), torch.randn(B, T, H), torch.randn(B, T, N), torch.randn(B, T, N)]


def get_init_inputs(H=H):
    return [H]


def min_bytes(B=B, T=T, H=H, P=P, N=N, itemsize=4):
    return (2 * B * T * H * P + B * T * H + 2 * B * T * N + H) * itemsize


def flops(B=B, T=T, H=H, P=P, N=N):
    return 4 * B * T * H * P * N
