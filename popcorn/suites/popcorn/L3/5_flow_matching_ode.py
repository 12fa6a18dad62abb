"""Flow matching sampled with four Heun steps: x (B, D) → x at time 1, velocity by a network of the point and the time.

v(x, t) = W₂ tanh(W₁ x + t · u + b); each step averages the velocities at both ends.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "diffusion"
DIFFERENTIABLE = True

B = Dim(8192, low=6922, high=9216, cpu=512)
D = Dim(256, low=216, high=288, align=8, cpu=64)
F = Dim(1024, low=872, high=1152, align=8, cpu=128)


class Model(nn.Module):
    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.enter = nn.Linear(width, hidden)
        self.time = nn.Parameter(torch.randn(hidden))
        self.leave = nn.Linear(hidden, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def velocity(x: torch.Tensor, time: float) -> torch.Tensor:
            return self.leave(torch.tanh(self.enter(x) + time * self.time))

        step = 0.25
        for index in range(4):
            first = velocity(x, step * index)
            second = velocity(x + step * first, step * (index + 1))
            x = x + 0.5 * step * (first + second)
        return x


def get_inputs(B=B, D=D):
    return [torch.randn(B, D)]


def get_init_inputs(D=D, F=F):
    return [D, F]


def min_bytes(B=B, D=D, F=F, itemsize=4):
    return (2 * B * D + 2 * D * F + 2 * F + D) * itemsize


def flops(B=B, D=D, F=F):
    return 32 * B * D * F
