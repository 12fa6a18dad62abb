"""Four steps of a second-order multistep solver of a diffusion's probability flow, a small network as noise model.

x (B, D), noise levels σ = 4, 2, 1, 1/2, 1/4; network: [x, log σ] → linear, SiLU, linear; step by the difference of the last two
predictions.
"""

import math

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim
import itertools

DOMAIN = "diffusion"
DIFFERENTIABLE = True

B = Dim(8192, low=6922, high=9216, cpu=512)
D = Dim(512, low=432, high=576, align=8, cpu=96)
F = Dim(1024, low=872, high=1152, align=8, cpu=128)


class Model(nn.Module):
    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.enter = nn.Linear(width, hidden)
        self.level = nn.Parameter(torch.randn(hidden))
        self.leave = nn.Linear(hidden, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        levels, last = (4.0, 2.0, 1.0, 0.5, 0.25), None
        for now, then in itertools.pairwise(levels):
            hidden = functional.silu(self.enter(x / (1 + now**2) ** 0.5) + self.level * math.log(now))
            denoised = self.leave(hidden)
            slope = (x - denoised) / now
            used = slope if last is None else 1.5 * slope - 0.5 * last
            x, last = x + (then - now) * used, slope
        return x


def get_inputs(B=B, D=D):
    return [torch.randn(B, D)]


def get_init_inputs(D=D, F=F):
    return [D, F]


def min_bytes(B=B, D=D, F=F, itemsize=4):
    return (2 * B * D + 2 * D * F + 2 * F + D) * itemsize


def flops(B=B, D=D, F=F):
    return 16 * B * D * F
