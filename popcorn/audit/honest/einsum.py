"""Sums by einsum."""

import torch
from torch import nn

PROBLEM = "norm"


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))

    def forward(self, x):
        ms = torch.einsum("ij,ij->i", x, x)[:, None] / x.shape[-1]
        return x * torch.rsqrt(ms + 1e-6) * self.weight
