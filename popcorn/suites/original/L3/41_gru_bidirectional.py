"""A GRU layer in both directions: x (B, T, D) → states of both (B, T, 2·F)."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "recurrent"
DIFFERENTIABLE = True

B = Dim(256, fixed=True, cpu=32)
T = Dim(256, fixed=True, cpu=32)
D = Dim(512, fixed=True, cpu=64)
F = Dim(1024, fixed=True, cpu=96)


class Model(nn.Module):
    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.layer = nn.GRU(width, hidden, 1, batch_first=True, bidirectional=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)[0]


def get_inputs(B=B, T=T, D=D):
    return [torch.randn(B, T, D)]


def get_init_inputs(D=D, F=F):
    return [D, F]


def min_bytes(B=B, T=T, D=D, F=F, itemsize=4):
    return (B * T * D + 2 * 3 * F * (D + F + 2) + B * T * (2 * F)) * itemsize


def flops(B=B, T=T, D=D, F=F):
    return 4 * B * T * 3 * F * (D + F)
