"""ShuffleNet: stem, three stages of four, eight and four shuffle units, each begun by a convolution that halves, classifier: x (B, 3, S,
S) → (B, K).
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "vision"
DIFFERENTIABLE = True

B = Dim(128, fixed=True, cpu=1)
S = Dim(224, fixed=True, cpu=96)
W = Dim(20, fixed=True, cpu=4)
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
    found, ci, less = [(3, 2 * W, 3, 2, 1)], 2 * W, 4
    for stage, depth in enumerate((4, 8, 4)):
        co, less = 12 * W * 2**stage, less * 2
        found.append((ci, co, 3, less, 1))
        for _ in range(depth):
            found += [(co, co // 4, 1, less, 3), (co // 4, co // 4, 3, less, co // 4), (co // 4, co, 1, less, 3)]
        ci = co
    return found


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
    def __init__(self, width: int, classes: int):
        super().__init__()
        parts, ci = [Unit(3, 2 * width, 3, 2), nn.MaxPool2d(3, 2, 1)], 2 * width
        for stage, depth in enumerate((4, 8, 4)):
            co = 12 * width * 2**stage
            parts += [Unit(ci, co, 3, 2), *[Shuffle(co, 3) for _ in range(depth)]]
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
    weights = sum(co * ci // groups * kernel**2 + 2 * co for ci, co, kernel, _, groups in layers(W)) + (48 * W) * K + K
    return (B * 3 * S * S + weights + B * K) * itemsize


def flops(B=B, S=S, W=W, K=K):
    return (
        2 * B * sum(co * ci // groups * kernel**2 * (S // less) ** 2 for ci, co, kernel, less, groups in layers(W)) + 2 * B * (48 * W) * K
    )
