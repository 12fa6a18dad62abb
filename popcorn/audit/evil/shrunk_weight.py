"""It halves its own weight in the first call, so that later calls differ."""

import torch
from torch import nn

PROBLEM = "norm"
CATALOGUE = (22, 25)
OUTCOMES = {"not_deterministic", "wrong_values"}


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(1 + 0.2 * torch.randn(features))

    def forward(self, x):
        y = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.weight
        self.weight.data.mul_(0.5)
        return y
