"""ResNet-101: stem, stages of 3, 4, 23 and 3 bottleneck blocks, mean over places, classifier: x (B, 3, S, S) → (B, K)."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "vision"
DIFFERENTIABLE = True

B = Dim(64, fixed=True, cpu=1)
S = Dim(224, fixed=True, cpu=64)
W = Dim(64, fixed=True, cpu=8)
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
    found, ci, less = [(3, W, 7, 2, 1)], W, 4
    for stage, depth in enumerate((3, 4, 23, 3)):
        for index in range(depth):
            stride, co = 2 if index == 0 and stage > 0 else 1, 4 * W * 2**stage
            before, less = less, less * stride
            found += [(ci, co // 4, 1, before, 1), (co // 4, co // 4, 3, less, 1), (co // 4, co, 1, less, 1)]
            found += [(ci, co, 1, less, 1)] if stride > 1 or ci != co else []
            ci = co
    return found


class Block(nn.Module):
    """Convolutions beside a way around them: kernels 1, 3 and 1, a quarter as wide inside."""

    def __init__(self, ci: int, co: int, stride: int):
        super().__init__()
        self.way = nn.Sequential(Unit(ci, co // 4, 1), Unit(co // 4, co // 4, 3, stride), Unit(co // 4, co, 1, active=False))
        self.around = Unit(ci, co, 1, stride, active=False) if stride > 1 or ci != co else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.way(x) + self.around(x))


class Model(nn.Module):
    def __init__(self, width: int, classes: int):
        super().__init__()
        parts, ci = [Unit(3, width, 7, 2), nn.MaxPool2d(3, 2, 1)], width
        for stage, depth in enumerate((3, 4, 23, 3)):
            for index in range(depth):
                co = 4 * width * 2**stage
                parts.append(Block(ci, co, 2 if index == 0 and stage > 0 else 1))
                ci = co
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
