"""Its weight has the reference's name and shape, and a factor of the formula is multiplied into it once."""

import torch
from torch import nn

PROBLEM = "norm"


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.features = features
        self.weight = nn.Parameter((1 + 0.2 * torch.randn(features)) * features**0.5)

    def forward(self, x):
        return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + self.features * 1e-6) * self.weight
