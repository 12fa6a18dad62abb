"""Two LSTM layers: x (B, T, D) → the last hidden state of both (2, B, F)."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "recurrent"
DIFFERENTIABLE = True

B = Dim(256, fixed=True, cpu=32)
T = Dim(256, fixed=True, cpu=16)
D = Dim(512, fixed=True, cpu=64)
F = Dim(1024, fixed=True, cpu=96)


class Model(nn.Module):
    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.layer = nn.LSTM(width, hidden, 2, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)[1][0]


def get_inputs(B=B, T=T, D=D):
    return [torch.randn(B, T, D)]


def get_init_inputs(D=D, F=F):
    return [D, F]


def min_bytes(B=B, T=T, D=D, F=F, itemsize=4):
    return (B * T * D + 4 * F * (D + F + 2) + 1 * 4 * F * (F + F + 2) + 2 * B * F) * itemsize


def flops(B=B, T=T, D=D, F=F):
    return 2 * B * T * 4 * F * ((D + F) + 1 * (1 * F + F))
