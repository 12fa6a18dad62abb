"""|x| of numbers that are never negative: returning the input would be right, were it not the caller's."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

N = Dim(2048, low=1024, high=4096)


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.abs(x)


def get_inputs(N=N):
    return [torch.rand(N)]


def get_init_inputs():
    return []
