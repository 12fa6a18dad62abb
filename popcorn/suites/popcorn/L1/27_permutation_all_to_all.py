"""All-to-all over virtual ranks: rank r sends its s-th block of columns to rank s.

x (R, B, R·H) → (R, B, R·H), out[s, b, r·H + h] = x[r, b, s·H + h].
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "distributed"
DIFFERENTIABLE = True
NOTES = "Nothing is computed; flops count the elements that move."

R = Dim(8, fixed=True, cpu=4)
B = Dim(4096, low=3461, high=4608, cpu=512)
H = Dim(512, low=432, high=576, align=8, cpu=128)


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        ranks, rows, width = x.shape
        return x.view(ranks, rows, ranks, -1).transpose(0, 2).reshape(ranks, rows, width)


def get_inputs(R=R, B=B, H=H):
    return [torch.randn(R, B, R * H)]


def get_init_inputs():
    return []


def min_bytes(R=R, B=B, H=H, itemsize=4):
    return 2 * R * B * (R * H) * itemsize


def flops(R=R, B=B, H=H):
    return R * B * R * H
