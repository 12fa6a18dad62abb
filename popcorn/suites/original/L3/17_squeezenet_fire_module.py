"""A fire module: channels squeezed, then expanded by two kernels: x (B, 8·W, S, S) → (B, 8·W, S, S)."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "vision"
DIFFERENTIABLE = True

B = Dim(64, fixed=True, cpu=4)
S = Dim(112, fixed=True, cpu=48)
W = Dim(16, fixed=True, cpu=8)


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
    return [(8 * W, W, 1, 1, 1), (W, 4 * W, 1, 1, 1), (W, 4 * W, 3, 1, 1)]


class Fire(nn.Module):
    """Channels squeezed to s, then expanded by kernels 1 and 3 side by side, e each."""

    def __init__(self, ci: int, s: int, e: int):
        super().__init__()
        self.squeeze, self.one, self.three = Unit(ci, s, 1), Unit(s, e, 1), Unit(s, e, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.squeeze(x)
        return torch.cat((self.one(x), self.three(x)), 1)


class Model(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.fire = Fire(8 * width, width, 4 * width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fire(x)


def get_inputs(B=B, S=S, W=W):
    return [torch.randn(B, 8 * W, S, S)]


def get_init_inputs(W=W):
    return [W]


def min_bytes(B=B, S=S, W=W, itemsize=4):
    weights = sum(co * ci // groups * kernel**2 + 2 * co for ci, co, kernel, _, groups in layers(W))
    return (B * 8 * W * S * S + weights + B * (8 * W) * S * S) * itemsize


def flops(B=B, S=S, W=W):
    return 2 * B * sum(co * ci // groups * kernel**2 * (S // less) ** 2 for ci, co, kernel, less, groups in layers(W))
