"""Maximum over windows of an image: x (B, C, H, H) → (B, C, H/2, H/2), window 3, stride 2, padding 1."""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "pooling"
DIFFERENTIABLE = True
NOTES = "Where a window holds its maximum twice, the gradient goes to the first one in row order."

B = Dim(16, fixed=True, cpu=4)
C = Dim(64, fixed=True, cpu=16)
H = Dim(512, fixed=True, align=2, cpu=128)


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.max_pool2d(x, kernel_size=3, stride=2, padding=1)


def get_inputs(B=B, C=C, H=H):
    return [torch.randn(B, C, H, H)]


def get_init_inputs():
    return []


def min_bytes(B=B, C=C, H=H, itemsize=4):
    return B * C * (H * H + (H // 2) ** 2) * itemsize


def flops(B=B, C=C, H=H):
    return 8 * B * C * (H // 2) ** 2
