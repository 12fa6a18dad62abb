"""A linear layer, a scalar and a mask: weights, gradients, an integer output.

x (B, D) → out (B, H) floating, best (B,) int64.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DIFFERENTIABLE = True

B = Dim(24, low=16, high=32)
D = Dim(40, fixed=True)
H = Dim(12, fixed=True)


class Model(nn.Module):
    def __init__(self, inputs: int, outputs: int, scale: float):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        self.scale = scale

    def forward(self, x: torch.Tensor):
        out = torch.tanh(self.linear(x)) * self.scale
        return out, out.argmax(dim=-1)


def get_inputs(B=B, D=D):
    return [torch.randn(B, D)]


def get_init_inputs(D=D, H=H):
    return [D, H, 0.5]
