"""Mean over tiles of an image: x (B, C, H, H), window and stride 11 → (B, C, H // 11, H // 11)."""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "pooling"
DIFFERENTIABLE = True

B = Dim(16, fixed=True, cpu=4)
C = Dim(64, fixed=True, cpu=32)
H = Dim(512, fixed=True, cpu=128)


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.avg_pool2d(x, kernel_size=11)


def get_inputs(B=B, C=C, H=H):
    return [torch.randn(B, C, H, H)]


def get_init_inputs():
    return []


def min_bytes(B=B, C=C, H=H, itemsize=4):
    return (B * C * H * H + B * C * (H // 11) * (H // 11)) * itemsize


def flops(B=B, C=C, H=H):
    return 121 * B * C * (H // 11) ** 2
