"""An inverted residual block, kernel 5: x (B, 2·W, S, S) → the same shape; channels six times wider inside, each convolved alone."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "vision"
DIFFERENTIABLE = True

B = Dim(16, fixed=True, cpu=2)
S = Dim(112, fixed=True, cpu=48)
W = Dim(56, fixed=True, cpu=8)


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
    return [(2 * W, 12 * W, 1, 1, 1), (12 * W, 12 * W, 5, 1, 12 * W), (12 * W, 2 * W, 1, 1, 1)]


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
    def __init__(self, width: int):
        super().__init__()
        self.block = Inverted(2 * width, 2 * width, 6, 5, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.block(x)


def get_inputs(B=B, S=S, W=W):
    return [torch.randn(B, 2 * W, S, S)]


def get_init_inputs(W=W):
    return [W]


def min_bytes(B=B, S=S, W=W, itemsize=4):
    weights = sum(co * ci // groups * kernel**2 + 2 * co for ci, co, kernel, _, groups in layers(W))
    return (B * 2 * W * S * S + weights + B * (2 * W) * S * S) * itemsize


def flops(B=B, S=S, W=W):
    return 2 * B * sum(co * ci // groups * kernel**2 * (S // less) ** 2 for ci, co, kernel, less, groups in layers(W))
