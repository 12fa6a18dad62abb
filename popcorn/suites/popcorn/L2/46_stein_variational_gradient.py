"""Direction of Stein variational descent: x, score (N, D) → (K score + Σ_j (x_i − x_j) K_ij / h) / N, K_ij = exp(−|x_i − x_j|² / 2h), h
= D.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "bayesian"
DIFFERENTIABLE = True

N = Dim(8192, low=6922, high=9216, cpu=768)
D = Dim(128, low=112, high=152, align=8, cpu=48)


class Model(nn.Module):
    def forward(self, x: torch.Tensor, score: torch.Tensor) -> torch.Tensor:
        width = x.shape[1]
        squared = x.square().sum(1)[:, None] + x.square().sum(1)[None] - 2 * (x @ x.T)
        kernel = torch.exp(-squared.clamp_min(0) / (2 * width))
        return (kernel @ score + (x * kernel.sum(1, keepdim=True) - kernel @ x) / width) / x.shape[0]


def get_inputs(N=N, D=D):
    return [torch.randn(N, D), torch.randn(N, D)]


def get_init_inputs():
    return []


def min_bytes(N=N, D=D, itemsize=4):
    return 3 * N * D * itemsize


def flops(N=N, D=D):
    return 6 * N * N * D
