"""Largest value over virtual ranks and the smallest rank that has it: x (R, N) → (value (N), rank (N) int64)."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "distributed"
DIFFERENTIABLE = False

R = Dim(8, low=5, high=10, cpu=8)
N = Dim(4194304, low=3544186, high=4718592, cpu=65536)


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        value = x.amax(0)
        rank = torch.arange(x.shape[0], device=x.device)[:, None]
        return value, torch.where(x == value, rank, x.shape[0]).amin(0)


def get_inputs(R=R, N=N):
    return [torch.randn(R, N)]


def get_init_inputs():
    return []


def min_bytes(R=R, N=N, itemsize=4):
    return (R * N + N) * itemsize + 8 * N


def flops(R=R, N=N):
    return 2 * R * N
