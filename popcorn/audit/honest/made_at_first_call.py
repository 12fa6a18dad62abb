"""Buffers are made at the first call, when sizes are known, and made anew for others."""

import torch
from torch import nn

PROBLEM = "norm"


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(1 + 0.2 * torch.randn(features))
        self.squares = None

    def forward(self, x):
        if self.squares is None or self.squares.shape != x.shape:
            self.squares = torch.empty_like(x)
        torch.mul(x, x, out=self.squares)
        return x * torch.rsqrt(self.squares.mean(-1, keepdim=True) + 1e-6) * self.weight
