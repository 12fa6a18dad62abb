"""An image scanned along rows and columns, both ways each, by a linear recurrence; the four results added.

x (B, C, S, S) → the same shape; every direction has its own decay σ(a) and gain for each channel. The reference runs the recurrences by
doubling.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "vision"
DIFFERENTIABLE = True

B = Dim(8, low=5, high=10, cpu=1)
C = Dim(192, low=168, high=224, align=8, cpu=24)
S = Dim(64, low=54, high=72, cpu=24)


def scan(decay: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
    """h_t = decay_t · h_{t−1} + h_t along the last dimension, by doubling."""
    step = 1
    while step < h.shape[-1]:
        h = torch.cat((h[..., :step], h[..., step:] + decay[..., step:] * h[..., :-step]), dim=-1)
        decay = torch.cat((decay[..., :step], decay[..., step:] * decay[..., :-step]), dim=-1)
        step *= 2
    return h


class Model(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.decay = nn.Parameter(2 + torch.randn(4, channels))
        self.gain = nn.Parameter(torch.randn(4, channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def run(x: torch.Tensor, way: int) -> torch.Tensor:
            decay = torch.sigmoid(self.decay[way])[:, None].expand(-1, x.shape[-1]).expand_as(x)
            return scan(decay, x * self.gain[way][:, None])

        rows, columns = x.flatten(2), x.transpose(2, 3).flatten(2)
        across = run(rows, 0) + run(rows.flip(-1), 1).flip(-1)
        down = run(columns, 2) + run(columns.flip(-1), 3).flip(-1)
        return across.view_as(x) + down.view_as(x).transpose(2, 3)


def get_inputs(B=B, C=C, S=S):
    return [torch.randn(B, C, S, S)]


def get_init_inputs(C=C):
    return [C]


def min_bytes(B=B, C=C, S=S, itemsize=4):
    return (2 * B * C * S * S + 8 * C) * itemsize


def flops(B=B, C=C, S=S):
    return 16 * B * C * S * S
