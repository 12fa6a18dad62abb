"""Transposed convolution of volumes, sum, layer norm, pooling, GELU: x (B, CI, S, H, H) → (B, CO, S, H, H).

gelu(mean over 2 × 2 × 2 of layer_norm(y + scalar · tanh(y))), y = conv(x), (B, CO, 2S, 2H, 2H), kernel 3, stride 2; the norm is over the
last dimension.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "convolution"
DIFFERENTIABLE = True

B = Dim(32, fixed=True, cpu=1)
CI = Dim(64, fixed=True, cpu=8)
CO = Dim(32, fixed=True, cpu=16)
S = Dim(12, fixed=True, cpu=6)
H = Dim(24, fixed=True, cpu=10)


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, side: int):
        super().__init__()
        self.conv = nn.ConvTranspose3d(in_channels, out_channels, 3, stride=2, padding=1, output_padding=1)
        self.scalar = nn.Parameter(torch.randn(1))
        self.norm = nn.LayerNorm(2 * side)
        nn.init.normal_(self.norm.weight, 1.0, 0.2)
        nn.init.normal_(self.norm.bias, 0.0, 0.2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        y = self.norm(y + self.scalar * torch.tanh(y))
        return functional.gelu(functional.avg_pool3d(y, 2))


def get_inputs(B=B, CI=CI, S=S, H=H):
    return [torch.randn(B, CI, S, H, H)]


def get_init_inputs(CI=CI, CO=CO, H=H):
    return [CI, CO, H]


def min_bytes(B=B, CI=CI, CO=CO, S=S, H=H, itemsize=4):
    return (B * CI * S * H * H + 27 * CI * CO + CO + 1 + 4 * H + B * CO * S * H * H) * itemsize


def flops(B=B, CI=CI, CO=CO, S=S, H=H):
    return 2 * B * S * H * H * CI * CO * 27
