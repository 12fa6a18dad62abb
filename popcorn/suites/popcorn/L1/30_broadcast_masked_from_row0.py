"""Where a mask says so, every virtual rank takes rank 0's value: x (R, B, D), take (R, B, D) int64 of 0 and 1 → the same shape."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "distributed"
DIFFERENTIABLE = True
NOTES = "Nothing is computed; flops count the elements that move."

R = Dim(4, low=2, high=5, cpu=4)
B = Dim(4096, low=3461, high=4608, cpu=256)
D = Dim(1024, low=872, high=1152, align=8, cpu=512)


class Model(nn.Module):
    def forward(self, x: torch.Tensor, take: torch.Tensor) -> torch.Tensor:
        return torch.where(take.bool(), x[:1], x)


def get_inputs(R=R, B=B, D=D):
    return [torch.randn(R, B, D), torch.randint(0, 2, (R, B, D))]


def get_init_inputs():
    return []


def min_bytes(R=R, B=B, D=D, itemsize=4):
    return 2 * R * B * D * itemsize + 8 * R * B * D


def flops(R=R, B=B, D=D):
    return R * B * D
