"""Place of the minimum in the middle dimension: x (B, M, N) → (B, N) int64, the first one of several."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "reduction"
DIFFERENTIABLE = False

B = Dim(64, fixed=True, cpu=8)
M = Dim(2048, fixed=True, cpu=512)
N = Dim(1024, fixed=True, cpu=256)


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.argmin(1)


def get_inputs(B=B, M=M, N=N):
    return [torch.randn(B, M, N)]


def get_init_inputs():
    return []


def min_bytes(B=B, M=M, N=N, itemsize=4):
    return B * M * N * itemsize + 8 * B * N


def flops(B=B, M=M, N=N):
    return B * M * N
