"""A dense block of six layers: x (B, 2·W, S, S) → (B, 8·W, S, S), growth W."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "vision"
DIFFERENTIABLE = True

B = Dim(32, fixed=True, cpu=2)
S = Dim(56, fixed=True, cpu=32)
W = Dim(32, fixed=True, cpu=8)


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
    found = []
    for index in range(6):
        found += [((2 + index) * W, 4 * W, 1, 1, 1), (4 * W, W, 3, 1, 1)]
    return found


class Dense(nn.Module):
    """Layers that each see the outputs of all before: kernel 1 to four times the growth, kernel 3 to the growth."""

    def __init__(self, ci: int, growth: int, depth: int):
        super().__init__()
        inputs = [ci + growth * index for index in range(depth)]
        self.layers = nn.ModuleList(nn.Sequential(Unit(seen, 4 * growth, 1), Unit(4 * growth, growth, 3)) for seen in inputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.cat((x, layer(x)), 1)
        return x


class Model(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.block = Dense(2 * width, width, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.block(x)


def get_inputs(B=B, S=S, W=W):
    return [torch.randn(B, 2 * W, S, S)]


def get_init_inputs(W=W):
    return [W]


def min_bytes(B=B, S=S, W=W, itemsize=4):
    weights = sum(co * ci // groups * kernel**2 + 2 * co for ci, co, kernel, _, groups in layers(W))
    return (B * 2 * W * S * S + weights + B * (8 * W) * S * S) * itemsize


def flops(B=B, S=S, W=W):
    return 2 * B * sum(co * ci // groups * kernel**2 * (S // less) ** 2 for ci, co, kernel, less, groups in layers(W))
