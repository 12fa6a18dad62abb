"""MobileNet v2: seventeen inverted residual blocks, mean over places, classifier: x (B, 3, S, S) → (B, K)."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "vision"
DIFFERENTIABLE = True

B = Dim(128, fixed=True, cpu=1)
S = Dim(224, fixed=True, cpu=64)
W = Dim(16, fixed=True, cpu=4)
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
    found, ci, less = [(3, 2 * W, 3, 2, 1)], 2 * W, 2
    for times, co, depth, stride, kernel in PLAN:
        for index in range(depth):
            wide, step = ci * times, stride if index == 0 else 1
            found += [(ci, wide, 1, less, 1)] if times > 1 else []
            less *= step
            found += [(wide, wide, kernel, less, wide), (wide, co * W, 1, less, 1)]
            ci = co * W
    return [*found, (ci, 80 * W, 1, less, 1)]


PLAN = ((1, 1, 1, 1, 3), (6, 2, 2, 2, 3), (6, 2, 3, 2, 3), (6, 4, 4, 2, 3), (6, 6, 3, 1, 3), (6, 10, 3, 2, 3), (6, 20, 1, 1, 3))
"""(how much wider inside, channels over the base width, blocks, stride, kernel) of every stage."""


class Inverted(nn.Module):
    """Channels widened, each convolved alone, narrowed again; a way around where the shape stays."""

    def __init__(self, ci: int, co: int, times: int, kernel: int, stride: int):
        super().__init__()
        self.around = stride == 1 and ci == co
        widen = [Unit(ci, ci * times, 1)] if times > 1 else []
        self.way = nn.Sequential(
            *widen, Unit(ci * times, ci * times, kernel, stride, groups=ci * times), Unit(ci * times, co, 1, active=False)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.way(x) if self.around else self.way(x)


class Model(nn.Module):
    def __init__(self, width: int, classes: int):
        super().__init__()
        parts, ci = [Unit(3, 2 * width, 3, 2)], 2 * width
        for times, co, depth, stride, kernel in PLAN:
            for index in range(depth):
                parts.append(Inverted(ci, co * width, times, kernel, stride if index == 0 else 1))
                ci = co * width
        self.layers = nn.Sequential(*parts, Unit(ci, 80 * width, 1))
        self.out = nn.Linear(80 * width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.layers(x).mean((2, 3)))


def get_inputs(B=B, S=S):
    return [torch.randn(B, 3, S, S)]


def get_init_inputs(W=W, K=K):
    return [W, K]


def min_bytes(B=B, S=S, W=W, K=K, itemsize=4):
    weights = sum(co * ci // groups * kernel**2 + 2 * co for ci, co, kernel, _, groups in layers(W)) + (80 * W) * K + K
    return (B * 3 * S * S + weights + B * K) * itemsize


def flops(B=B, S=S, W=W, K=K):
    return (
        2 * B * sum(co * ci // groups * kernel**2 * (S // less) ** 2 for ci, co, kernel, less, groups in layers(W)) + 2 * B * (80 * W) * K
    )
