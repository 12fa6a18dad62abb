"""Linear recurrence along a sequence: a, b (B, C, T) → h_t = σ(a_t) · h_{t−1} + b_t, with the logistic function of a as decay.

The reference runs it by doubling, in log2(T) steps.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "state space"
DIFFERENTIABLE = True

B = Dim(8, low=5, high=10, cpu=2)
C = Dim(768, low=648, high=864, align=8, cpu=32)
T = Dim(2048, low=1730, high=2304, cpu=512)


def scan(decay: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
    """h_t = decay_t · h_{t−1} + h_t along the last dimension, by doubling."""
    step = 1
    while step < h.shape[-1]:
        h = torch.cat((h[..., :step], h[..., step:] + decay[..., step:] * h[..., :-step]), dim=-1)
        decay = torch.cat((decay[..., :step], decay[..., step:] * decay[..., :-step]), dim=-1)
        step *= 2
    return h


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return scan(torch.sigmoid(a), b)


def get_inputs(B=B, C=C, T=T):
    return [torch.randn(B, C, T), torch.randn(B, C, T)]


def get_init_inputs():
    return []


def min_bytes(B=B, C=C, T=T, itemsize=4):
    return 3 * B * C * T * itemsize


def flops(B=B, C=C, T=T):
    return 6 * B * C * T
