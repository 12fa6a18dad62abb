"""MobileNet: stem, thirteen depthwise and pointwise convolutions, mean over places, classifier: x (B, 3, S, S) → (B, K)."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "vision"
DIFFERENTIABLE = True

B = Dim(128, fixed=True, cpu=2)
S = Dim(224, fixed=True, cpu=96)
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
    found, ci, less = [(3, W, 3, 2, 1)], W, 2
    for times, stride in PLAN:
        less *= stride
        found += [(ci, ci, 3, less, ci), (ci, times * W, 1, less, 1)]
        ci = times * W
    return found


PLAN = ((2, 1), (4, 2), (4, 1), (8, 2), (8, 1), (16, 2), *[(16, 1)] * 5, (32, 2), (32, 1))
"""(channels over the base width, stride) of every pair."""


class Model(nn.Module):
    def __init__(self, width: int, classes: int):
        super().__init__()
        parts, ci = [Unit(3, width, 3, 2)], width
        for times, stride in PLAN:
            parts += [Unit(ci, ci, 3, stride, groups=ci), Unit(ci, times * width, 1)]
            ci = times * width
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
