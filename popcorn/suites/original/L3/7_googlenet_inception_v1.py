"""A network of inception modules: stem, three modules with pooling between, mean over places, classifier: x (B, 3, S, S) → (B, K)."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "vision"
DIFFERENTIABLE = True

B = Dim(64, fixed=True, cpu=2)
S = Dim(224, fixed=True, cpu=64)
W = Dim(64, fixed=True, cpu=16)
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
    found, ci = [(3, W, 7, 2, 1), (W, 3 * W, 3, 4, 1)], 3 * W
    for index, (a, b0, b1, c0, c1, d) in enumerate(modules(W)):
        less = 8 * 2**index
        found += [
            (ci, a, 1, less, 1),
            (ci, b0, 1, less, 1),
            (b0, b1, 3, less, 1),
            (ci, c0, 1, less, 1),
            (c0, c1, 5, less, 1),
            (ci, d, 1, less, 1),
        ]
        ci = a + b1 + c1 + d
    return found


def modules(W: int) -> tuple[tuple[int, ...], ...]:
    """Channels of the ways of each module."""
    return ((W, 2 * W, 2 * W, W // 4, W // 2, W // 2), (2 * W, 2 * W, 3 * W, W // 2, W, W), (3 * W, 2 * W, 4 * W, W // 4, W, W))


class Inception(nn.Module):
    """Four ways side by side: kernel 1; 1 then 3; 1 then 5; pooling then 1."""

    def __init__(self, ci: int, a: int, b: tuple[int, int], c: tuple[int, int], d: int):
        super().__init__()
        self.ways = nn.ModuleList(
            [
                Unit(ci, a, 1),
                nn.Sequential(Unit(ci, b[0], 1), Unit(b[0], b[1], 3)),
                nn.Sequential(Unit(ci, c[0], 1), Unit(c[0], c[1], 5)),
                nn.Sequential(nn.MaxPool2d(3, 1, 1), Unit(ci, d, 1)),
            ]
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([way(x) for way in self.ways], 1)


class Model(nn.Module):
    def __init__(self, width: int, classes: int):
        super().__init__()
        pool = nn.MaxPool2d(3, 2, 1)
        parts, ci = [Unit(3, width, 7, 2), pool, Unit(width, 3 * width, 3), pool], 3 * width
        for a, b0, b1, c0, c1, d in modules(width):
            parts += [Inception(ci, a, (b0, b1), (c0, c1), d), pool]
            ci = a + b1 + c1 + d
        self.layers = nn.Sequential(*parts)
        self.out = nn.Linear(ci, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.layers(x).mean((2, 3)))


def get_inputs(B=B, S=S):
    return [torch.randn(B, 3, S, S)]


def get_init_inputs(W=W, K=K):
    return [W, K]


def min_bytes(B=B, S=S, W=W, K=K, itemsize=4):
    weights = sum(co * ci // groups * kernel**2 + 2 * co for ci, co, kernel, _, groups in layers(W)) + (9 * W) * K + K
    return (B * 3 * S * S + weights + B * K) * itemsize


def flops(B=B, S=S, W=W, K=K):
    return 2 * B * sum(co * ci // groups * kernel**2 * (S // less) ** 2 for ci, co, kernel, less, groups in layers(W)) + 2 * B * (9 * W) * K
