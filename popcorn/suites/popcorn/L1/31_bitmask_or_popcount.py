"""Bit masks of virtual ranks joined, and how many bits each word has: mask (R, N) int64 → (N) int64 and (N) int64."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "distributed"
DIFFERENTIABLE = False

R = Dim(4, low=2, high=5, cpu=4)
N = Dim(8388608, low=7088373, high=9437184, cpu=131072)


class Model(nn.Module):
    def forward(self, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        joined = mask[0]
        for one in mask[1:]:
            joined = joined | one
        pairs = joined - ((joined >> 1) & 0x5555555555555555)
        fours = (pairs & 0x3333333333333333) + ((pairs >> 2) & 0x3333333333333333)
        bytes_ = (fours + (fours >> 4)) & 0x0F0F0F0F0F0F0F0F
        return joined, ((bytes_ * 0x0101010101010101) >> 56) & 0x7F


def get_inputs(R=R, N=N):
    return [torch.randint(0, 2**40, (R, N))]


def get_init_inputs():
    return []


def min_bytes(R=R, N=N):
    return 8 * (R + 2) * N


def flops(R=R, N=N):
    return (R + 12) * N
