"""Attention whose queries, keys and values are rounded to 8-bit floats (e4m3, clamped to ±448) first: (B, H, T, E) each, softmax(q kᵀ /
√E) v.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "attention"
DIFFERENTIABLE = False

B = Dim(4, low=2, high=5, cpu=2)
H = Dim(16, low=11, high=21, cpu=4)
T = Dim(1024, low=865, high=1152, cpu=128)
E = Dim(128, fixed=True, cpu=64)


class Model(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        q, k, v = (x.clamp(-448, 448).to(torch.float8_e4m3fn).to(x.dtype) for x in (q, k, v))
        return functional.scaled_dot_product_attention(q, k, v)


def get_inputs(B=B, H=H, T=T, E=E):
    return [torch.randn(B, H, T, E), torch.randn(B, H, T, E), torch.randn(B, H, T, E)]


def get_init_inputs():
    return []


def min_bytes(B=B, H=H, T=T, E=E, itemsize=4):
    return 4 * B * H * T * E * itemsize


def flops(B=B, H=H, T=T, E=E):
    return 4 * B * H * T * T * E
