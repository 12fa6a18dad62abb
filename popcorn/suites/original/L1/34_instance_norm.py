"""Instance norm: every channel of every image by its own mean and variance, x (B, C, H, H), eps 1e-5."""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "normalization"
DIFFERENTIABLE = True

B = Dim(64, fixed=True, cpu=8)
C = Dim(64, fixed=True, cpu=16)
H = Dim(128, fixed=True, cpu=48)


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.instance_norm(x)


def get_inputs(B=B, C=C, H=H):
    return [torch.randn(B, C, H, H)]


def get_init_inputs():
    return []


def min_bytes(B=B, C=C, H=H, itemsize=4):
    return 2 * B * C * H * H * itemsize


def flops(B=B, C=C, H=H):
    return 5 * B * C * H * H
