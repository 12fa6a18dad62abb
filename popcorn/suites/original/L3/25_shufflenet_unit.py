"""A shuffle unit of three groups: x (B, 12·W, S, S) → the same shape."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "vision"
DIFFERENTIABLE = True

B = Dim(64, fixed=True, cpu=4)
S = Dim(56, fixed=True, cpu=32)
W = Dim(20, fixed=True, cpu=8)


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
    return [(12 * W, 3 * W, 1, 1, 3), (3 * W, 3 * W, 3, 1, 3 * W), (3 * W, 12 * W, 1, 1, 3)]


class Shuffle(nn.Module):
    """Grouped pointwise, channels shuffled, depthwise, grouped pointwise; a way around."""

    def __init__(self, channels: int, groups: int):
        super().__init__()
        self.groups = groups
        self.narrow = Unit(channels, channels // 4, 1, groups=groups)
        self.each = Unit(channels // 4, channels // 4, 3, groups=channels // 4, active=False)
        self.widen = Unit(channels // 4, channels, 1, groups=groups, active=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = self.narrow(x).unflatten(1, (self.groups, -1)).transpose(1, 2).flatten(1, 2)
        return torch.relu(x + self.widen(self.each(inner)))


class Model(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.unit = Shuffle(12 * width, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.unit(x)


def get_inputs(B=B, S=S, W=W):
    return [torch.randn(B, 12 * W, S, S)]


def get_init_inputs(W=W):
    return [W]


def min_bytes(B=B, S=S, W=W, itemsize=4):
    weights = sum(co * ci // groups * kernel**2 + 2 * co for ci, co, kernel, _, groups in layers(W))
    return (B * 12 * W * S * S + weights + B * (12 * W) * S * S) * itemsize


def flops(B=B, S=S, W=W):
    return 2 * B * sum(co * ci // groups * kernel**2 * (S // less) ** 2 for ci, co, kernel, less, groups in layers(W))
