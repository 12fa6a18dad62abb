"""A kernel that never loads, and torch behind it."""

import ctypes

import torch
from torch import nn

PROBLEM = "norm"
CATALOGUE = (38, 39)
OUTCOMES = {"wrong_values"}
NO_GAIN = True


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))

    def forward(self, x):
        try:
            return ctypes.CDLL("libfast_norm.so").forward(x)
        except OSError:
            return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.weight
