"""DenseNet-121: stem, dense blocks of 6, 12, 24, 16 layers with transitions that halve, classifier: x (B, 3, S, S) → (B, K), growth W."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "vision"
DIFFERENTIABLE = True

B = Dim(64, fixed=True, cpu=1)
S = Dim(224, fixed=True, cpu=64)
W = Dim(32, fixed=True, cpu=8)
K = Dim(1000, fixed=True, cpu=64)


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
    found, ci, less = [(3, 2 * W, 7, 2, 1)], 2 * W, 4
    for stage, depth in enumerate((6, 12, 24, 16)):
        for _ in range(depth):
            found += [(ci, 4 * W, 1, less, 1), (4 * W, W, 3, less, 1)]
            ci += W
        if stage < 3:
            found.append((ci, ci // 2, 1, less, 1))
            ci, less = ci // 2, less * 2
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
    def __init__(self, width: int, classes: int):
        super().__init__()
        parts, ci = [Unit(3, 2 * width, 7, 2), nn.MaxPool2d(3, 2, 1)], 2 * width
        for stage, depth in enumerate((6, 12, 24, 16)):
            parts.append(Dense(ci, width, depth))
            ci += depth * width
            if stage < 3:
                parts += [Unit(ci, ci // 2, 1), nn.AvgPool2d(2)]
                ci //= 2
        self.layers = nn.Sequential(*parts)
        self.out = nn.Linear(ci, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.layers(x).mean((2, 3)))


def get_inputs(B=B, S=S):
    return [torch.randn(B, 3, S, S)]


def get_init_inputs(W=W, K=K):
    return [W, K]


def min_bytes(B=B, S=S, W=W, K=K, itemsize=4):
    weights = sum(co * ci // groups * kernel**2 + 2 * co for ci, co, kernel, _, groups in layers(W)) + (32 * W) * K + K
    return (B * 3 * S * S + weights + B * K) * itemsize


def flops(B=B, S=S, W=W, K=K):
    return (
        2 * B * sum(co * ci // groups * kernel**2 * (S // less) ** 2 for ci, co, kernel, less, groups in layers(W)) + 2 * B * (32 * W) * K
    )
