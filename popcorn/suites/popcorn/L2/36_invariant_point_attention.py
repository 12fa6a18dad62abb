"""Attention by features and by distance of points: near points weigh more.

q, k, v (B, H, N, E), points_q, points_k (B, H, N, P, 3) → (B, H, N, E): softmax(q k / √E − softplus(γ_h) / 2 · Σ_p |points_q −
points_k|²) v.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "protein"
DIFFERENTIABLE = True

B = Dim(8, low=5, high=10, cpu=1)
H = Dim(12, fixed=True, cpu=4)
N = Dim(512, low=432, high=576, cpu=96)
E = Dim(32, fixed=True, cpu=16)
P = Dim(4, fixed=True, cpu=4)


class Model(nn.Module):
    def __init__(self, heads: int):
        super().__init__()
        self.gamma = nn.Parameter(torch.randn(heads) - 2)

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, points_q: torch.Tensor, points_k: torch.Tensor) -> torch.Tensor:
        a, b = points_q.flatten(-2), points_k.flatten(-2)
        squared = a.square().sum(-1)[..., None] + b.square().sum(-1)[..., None, :] - 2 * (a @ b.transpose(-1, -2))
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5 - 0.5 * functional.softplus(self.gamma)[:, None, None] * squared
        return torch.softmax(scores, -1) @ v


def get_inputs(B=B, H=H, N=N, E=E, P=P):
    return [
        torch.randn(B, H, N, E),
        torch.randn(B, H, N, E),
        torch.randn(B, H, N, E),
        torch.randn(B, H, N, P, 3),
        torch.randn(B, H, N, P, 3),
    ]


def get_init_inputs(H=H):
    return [H]


def min_bytes(B=B, H=H, N=N, E=E, P=P, itemsize=4):
    return (4 * B * H * N * E + 2 * B * H * N * P * 3 + H) * itemsize


def flops(B=B, H=H, N=N, E=E, P=P):
    return 2 * B * H * N * N * (2 * E + 3 * P)
