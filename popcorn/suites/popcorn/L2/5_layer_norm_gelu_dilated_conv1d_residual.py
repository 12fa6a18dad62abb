"""A block of genomic models: layer norm over channels, GELU, dilated convolution along the sequence, residual.

x (B, C, T) → x + conv(gelu(layer_norm(x))), the norm over C at every position, the convolution C → C of width W and dilation DIL, same length.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "genomics"
DIFFERENTIABLE = True

B = Dim(8, low=6, high=10, cpu=2)
C = Dim(512, low=440, high=576, align=8, cpu=128)
T = Dim(4096, low=3584, high=4480, cpu=1024)
W = Dim(3, fixed=True, cpu=3)
DIL = Dim(4, fixed=True, cpu=4)


class Model(nn.Module):
    def __init__(self, channels: int, width: int, dilation: int):
        super().__init__()
        self.norm = nn.LayerNorm(channels)
        nn.init.normal_(self.norm.weight, 1.0, 0.2)
        nn.init.normal_(self.norm.bias, 0.0, 0.2)
        self.conv = nn.Conv1d(channels, channels, width, padding=dilation * (width - 1) // 2, dilation=dilation)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normed = self.norm(x.transpose(1, 2)).transpose(1, 2)
        return x + self.conv(functional.gelu(normed))


def get_inputs(B=B, C=C, T=T):
    return [torch.randn(B, C, T)]


def get_init_inputs(C=C, W=W, DIL=DIL):
    return [C, W, DIL]


def min_bytes(B=B, C=C, T=T, W=W, itemsize=4):
    return (2 * B * C * T + C * C * W + 3 * C) * itemsize


def flops(B=B, C=C, T=T, W=W):
    return 2 * B * T * C * C * W
