"""VGG-19: stages of convolutions of kernel 3, each with pooling, three linear layers: x (B, 3, S, S) → (B, K), hidden width F."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "vision"
DIFFERENTIABLE = True

B = Dim(64, fixed=True, cpu=1)
S = Dim(224, fixed=True, cpu=64)
W = Dim(64, fixed=True, cpu=8)
F = Dim(4096, fixed=True, cpu=128)
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
    found, ci = [], 3
    for stage, depth in enumerate((2, 2, 4, 4, 4)):
        for _ in range(depth):
            found.append((ci, W * min(2**stage, 8), 3, 2**stage, 1))
            ci = W * min(2**stage, 8)
    return found


class Model(nn.Module):
    def __init__(self, width: int, hidden: int, classes: int):
        super().__init__()
        parts, ci = [], 3
        for stage, depth in enumerate((2, 2, 4, 4, 4)):
            for _ in range(depth):
                parts.append(Unit(ci, width * min(2**stage, 8), 3))
                ci = width * min(2**stage, 8)
            parts.append(nn.MaxPool2d(2))
        linear = [nn.Linear(ci * 49, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, classes)]
        self.layers = nn.Sequential(*parts, nn.AdaptiveAvgPool2d(7), nn.Flatten(), *linear)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def get_inputs(B=B, S=S):
    return [torch.randn(B, 3, S, S)]


def get_init_inputs(W=W, F=F, K=K):
    return [W, F, K]


def min_bytes(B=B, S=S, W=W, F=F, K=K, itemsize=4):
    weights = (
        sum(co * ci // groups * kernel**2 + 2 * co for ci, co, kernel, _, groups in layers(W))
        + (392 * W + 1) * F
        + (F + 1) * F
        + (F + 1) * K
    )
    return (B * 3 * S * S + weights + B * K) * itemsize


def flops(B=B, S=S, W=W, F=F, K=K):
    return (
        2
        * B
        * (
            sum(co * ci // groups * kernel**2 * (S // less) ** 2 for ci, co, kernel, less, groups in layers(W))
            + 392 * W * F
            + F * F
            + F * K
        )
    )
