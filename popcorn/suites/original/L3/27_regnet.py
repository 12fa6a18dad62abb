"""A RegNet: three stages of two convolutions of kernel 3 in groups of 16 channels, each with pooling, classifier: x (B, 3, S, S) → (B,
K).
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "vision"
DIFFERENTIABLE = True

B = Dim(16, fixed=True, cpu=1)
S = Dim(224, fixed=True, cpu=64)
W = Dim(64, fixed=True, cpu=16)
K = Dim(10, fixed=True, cpu=10)


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
    found, ci = [], 3
    for stage in range(3):
        co = W * 2**stage
        found += [(ci, co, 3, 2**stage, 1), (co, co, 3, 2**stage, co // 16)]
        ci = co
    return found


class Model(nn.Module):
    def __init__(self, width: int, classes: int):
        super().__init__()
        parts, ci = [], 3
        for stage in range(3):
            co = width * 2**stage
            parts += [Unit(ci, co, 3), Unit(co, co, 3, groups=co // 16), nn.MaxPool2d(2)]
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
    weights = sum(co * ci // groups * kernel**2 + 2 * co for ci, co, kernel, _, groups in layers(W)) + (4 * W) * K + K
    return (B * 3 * S * S + weights + B * K) * itemsize


def flops(B=B, S=S, W=W, K=K):
    return 2 * B * sum(co * ci // groups * kernel**2 * (S // less) ** 2 for ci, co, kernel, less, groups in layers(W)) + 2 * B * (4 * W) * K
