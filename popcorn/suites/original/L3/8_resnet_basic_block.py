"""A residual block that halves the image: x (B, W, S, S) → (B, 2·W, S/2, S/2); two convolutions of kernel 3 and a way around."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "vision"
DIFFERENTIABLE = True

B = Dim(64, fixed=True, cpu=4)
S = Dim(112, fixed=True, cpu=56)
W = Dim(64, fixed=True, cpu=16)


class Unit(nn.Sequential):
    """Convolution of odd kernel, same padding, He's weights; a scale and shift of every channel (batch norm in inference); ReLU."""

    def __init__(self, ci: int, co: int, kernel: int, stride: int = 1, groups: int = 1, active: bool = True):
        conv = nn.Conv2d(ci, co, kernel, stride, kernel // 2, groups=groups, bias=False)
        nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
        super().__init__(conv, Affine(co), *([nn.ReLU()] if active else []))


class Affine(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.scale = nn.Parameter(1 + 0.1 * torch.randn(channels, 1, 1))
        self.shift = nn.Parameter(0.1 * torch.randn(channels, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.scale + self.shift


def layers(W: int) -> list[tuple[int, int, int, int, int]]:
    """(channels in, channels out, kernel, how many times smaller than the image, groups) of every convolution, in order."""
    return [(W, 2 * W, 3, 2, 1), (2 * W, 2 * W, 3, 2, 1), (W, 2 * W, 1, 2, 1)]


class Block(nn.Module):
    """Convolutions beside a way around them: two of kernel 3."""

    def __init__(self, ci: int, co: int, stride: int):
        super().__init__()
        self.way = nn.Sequential(Unit(ci, co, 3, stride), Unit(co, co, 3, active=False))
        self.around = Unit(ci, co, 1, stride, active=False) if stride > 1 or ci != co else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.way(x) + self.around(x))


class Model(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.block = Block(width, 2 * width, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.block(x)


def get_inputs(B=B, S=S, W=W):
    return [torch.randn(B, W, S, S)]


def get_init_inputs(W=W):
    return [W]


def min_bytes(B=B, S=S, W=W, itemsize=4):
    weights = sum(co * ci // groups * kernel**2 + 2 * co for ci, co, kernel, _, groups in layers(W))
    return (B * W * S * S + weights + B * (2 * W) * (S // 2) * (S // 2)) * itemsize


def flops(B=B, S=S, W=W):
    return 2 * B * sum(co * ci // groups * kernel**2 * (S // less) ** 2 for ci, co, kernel, less, groups in layers(W))
