"""L planar flows: z (B, D) → (z after them (B, D), sum of log-determinants (B)).

z + û tanh(w·z + b), log |1 + û·w (1 − tanh²)|, with û = u made so that w·û > −1.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "bayesian"
DIFFERENTIABLE = True
FLOPS_WHY = "A matrix times a vector and elementwise work; torch's counter sees the first alone, or nothing."

B = Dim(65536, low=55377, high=73728, cpu=2048)
D = Dim(128, low=112, high=152, align=8, cpu=64)
L = Dim(8, fixed=True, cpu=8)


class Model(nn.Module):
    def __init__(self, width: int, depth: int):
        super().__init__()
        self.u = nn.Parameter(torch.randn(depth, width) / width**0.5)
        self.w = nn.Parameter(torch.randn(depth, width) / width**0.5)
        self.b = nn.Parameter(torch.randn(depth))

    def forward(self, z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        total = torch.zeros_like(z[:, 0])
        for u, w, b in zip(self.u, self.w, self.b, strict=True):
            inner = (u * w).sum()
            u = u + (functional.softplus(inner) - 1 - inner) * w / (w.square().sum() + 1e-6)
            bent = torch.tanh(z @ w + b)
            total = total + torch.log1p((u * w).sum() * (1 - bent.square()))
            z = z + bent[:, None] * u
        return z, total


def get_inputs(B=B, D=D):
    return [torch.randn(B, D)]


def get_init_inputs(D=D, L=L):
    return [D, L]


def min_bytes(B=B, D=D, L=L, itemsize=4):
    return (2 * B * D + L * (2 * D + 1) + B) * itemsize


def flops(B=B, D=D, L=L):
    return L * B * (4 * D + 10)
