"""Three pipeline stages on three virtual ranks: micro-batches pass through one residual MLP after another.

x (M, B, D) → the same shape; stage s computes x + gelu(x · up[s] + up_bias[s]) · down[s] + down_bias[s]. M is the number of micro-batches.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "distributed"
DIFFERENTIABLE = True

M = Dim(4, low=2, high=6, cpu=2)
B = Dim(1024, low=832, high=1152, align=8, cpu=128)
D = Dim(1024, low=880, high=1152, align=16, cpu=128)
F = Dim(4096, low=3584, high=4480, align=16, cpu=512)
STAGES = Dim(3, fixed=True, cpu=3)


class Model(nn.Module):
    def __init__(self, stages: int, width: int, hidden: int):
        super().__init__()
        self.up = nn.Parameter(torch.randn(stages, width, hidden) / width**0.5)
        self.up_bias = nn.Parameter(0.1 * torch.randn(stages, hidden))
        self.down = nn.Parameter(torch.randn(stages, hidden, width) / hidden**0.5)
        self.down_bias = nn.Parameter(0.1 * torch.randn(stages, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for up, up_bias, down, down_bias in zip(self.up, self.up_bias, self.down, self.down_bias, strict=True):
            x = x + functional.gelu(x @ up + up_bias) @ down + down_bias
        return x


def get_inputs(M=M, B=B, D=D):
    return [torch.randn(M, B, D)]


def get_init_inputs(STAGES=STAGES, D=D, F=F):
    return [STAGES, D, F]


def min_bytes(M=M, B=B, D=D, F=F, STAGES=STAGES, itemsize=4):
    return (2 * M * B * D + STAGES * (2 * D * F + D + F)) * itemsize


def flops(M=M, B=B, D=D, F=F, STAGES=STAGES):
    return STAGES * 4 * M * B * D * F
