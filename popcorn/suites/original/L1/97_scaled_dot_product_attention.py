"""Attention: q, k, v (B, H, T, E) → softmax(q kᵀ / √E) v, every query sees every key."""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "attention"
DIFFERENTIABLE = True

B = Dim(8, fixed=True, cpu=2)
H = Dim(32, fixed=True, cpu=4)
T = Dim(1024, fixed=True, cpu=128)
E = Dim(128, fixed=True, cpu=64)


class Model(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return functional.scaled_dot_product_attention(q, k, v)


def get_inputs(B=B, H=H, T=T, E=E):
    return [torch.randn(B, H, T, E), torch.randn(B, H, T, E), torch.randn(B, H, T, E)]


def get_init_inputs():
    return []


def min_bytes(B=B, H=H, T=T, E=E, itemsize=4):
    return 4 * B * H * T * E * itemsize


def flops(B=B, H=H, T=T, E=E):
    return 4 * B * H * T * T * E
