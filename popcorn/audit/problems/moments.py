"""Mean and variance of each row, as a tuple, and where the largest element is: x (B, D) → (B,), (B,), (B,) integers."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "reduction"
B = Dim(48, low=32, high=64)
D = Dim(96, low=80, high=112)


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return x.mean(-1) + 1, x.var(-1, unbiased=False) + 1, x.argmax(-1)


def get_inputs(B=B, D=D):
    return [torch.randn(B, D)]


def get_init_inputs():
    return []


def min_bytes(B=B, D=D, itemsize=4):
    return B * D * itemsize


def flops(B=B, D=D):
    return 5 * B * D
