"""A U-net of two levels whose units end in a softmax over the last dimension: x (B, 8, S, S) → (B, 4, S, S), base width W."""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "vision"
DIFFERENTIABLE = True

B = Dim(8, fixed=True, cpu=1)
S = Dim(256, fixed=True, cpu=64)
W = Dim(32, fixed=True, cpu=8)


class Double(nn.Sequential):
    """Twice convolution of kernel 3 and softmax along rows, scaled to a mean of one."""

    def __init__(self, ci: int, co: int):
        super().__init__(nn.Conv2d(ci, co, 3, padding=1), Rows(), nn.Conv2d(co, co, 3, padding=1), Rows())


class Rows(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, -1) * x.shape[-1]


class Model(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.first, self.second, self.lowest = Double(8, width), Double(width, 2 * width), Double(2 * width, 4 * width)
        self.up_low = nn.ConvTranspose2d(4 * width, 2 * width, 2, 2)
        self.second_up = Double(4 * width, 2 * width)
        self.up_high = nn.ConvTranspose2d(2 * width, width, 2, 2)
        self.first_up = Double(2 * width, width)
        self.out = nn.Conv2d(width, 4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = self.first(x)
        second = self.second(functional.max_pool2d(first, 2))
        lowest = self.lowest(functional.max_pool2d(second, 2))
        second = self.second_up(torch.cat((self.up_low(lowest), second), 1))
        first = self.first_up(torch.cat((self.up_high(second), first), 1))
        return self.out(first)


def get_inputs(B=B, S=S):
    return [torch.randn(B, 8, S, S)]


def get_init_inputs(W=W):
    return [W]


def min_bytes(B=B, S=S, W=W, itemsize=4):
    return (
        B * 8 * S * S
        + 9 * 8 * W
        + 9 * W * W
        + 9 * 6 * W * W
        + 9 * 24 * W * W
        + 32 * W * W
        + 9 * 12 * W * W
        + 8 * W * W
        + 9 * 3 * W * W
        + 4 * W
        + 31 * W
        + 4
        + B * 4 * S * S
    ) * itemsize


def flops(B=B, S=S, W=W):
    return (
        2
        * B
        * S
        * S
        * W
        * (
            8 * 9
            + 9 * W
            + (9 * 2 * W + 9 * 4 * W) // 4
            + (9 * 8 * W + 9 * 16 * W) // 16
            + 8 * W // 4
            + (9 * 8 * W + 9 * 4 * W) // 4
            + 2 * W
            + 18 * W
            + 9 * W
            + 4
        )
    )
