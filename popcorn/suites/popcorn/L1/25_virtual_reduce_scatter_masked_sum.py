"""Rows that a mask keeps, summed over virtual ranks; rank r gets the r-th part.

x (R, B, D), keep (R, B) int64 of 0 and 1 → (R, B / R, D).
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "distributed"
DIFFERENTIABLE = True

R = Dim(4, fixed=True, cpu=4)
B = Dim(8192, low=6928, high=9216, align=8, cpu=512)
D = Dim(1024, low=872, high=1152, align=8, cpu=512)


class Model(nn.Module):
    def forward(self, x: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        total = (x * keep[..., None]).sum(0)
        return total.view(x.shape[0], -1, x.shape[2])


def get_inputs(R=R, B=B, D=D):
    return [torch.randn(R, B, D), torch.randint(0, 2, (R, B))]


def get_init_inputs():
    return []


def min_bytes(R=R, B=B, D=D, itemsize=4):
    return (R * B * D + R * (B // R) * D) * itemsize + 8 * R * B


def flops(R=R, B=B, D=D):
    return 2 * R * B * D
