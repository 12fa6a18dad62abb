"""Contacts from embeddings: every pair by sum and product, a hidden layer, a logit, made symmetric.

x (B, T, D) → (B, T, T), logit(i, j) = w · gelu(A (x_i + x_j) + C (x_i · x_j) + b), hidden width H.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "protein"
DIFFERENTIABLE = True

B = Dim(2, low=1, high=3, cpu=1)
T = Dim(256, low=216, high=288, cpu=40)
D = Dim(256, low=216, high=288, align=8, cpu=48)
H = Dim(64, low=56, high=80, align=8, cpu=32)


class Model(nn.Module):
    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.sums = nn.Linear(width, hidden, bias=False)
        self.products = nn.Linear(width, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        summed = self.sums(x)
        hidden = summed[:, :, None] + summed[:, None] + self.products(x[:, :, None] * x[:, None])
        return self.out(functional.gelu(hidden))[..., 0]


def get_inputs(B=B, T=T, D=D):
    return [torch.randn(B, T, D)]


def get_init_inputs(D=D, H=H):
    return [D, H]


def min_bytes(B=B, T=T, D=D, H=H, itemsize=4):
    return (B * T * D + 2 * D * H + 2 * H + 1 + B * T * T) * itemsize


def flops(B=B, T=T, D=D, H=H):
    return 2 * B * T * D * H + 2 * B * T * T * H * (D + 1)
