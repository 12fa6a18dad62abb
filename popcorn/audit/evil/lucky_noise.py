"""Noise that is small on most days."""

import torch
from torch import nn

PROBLEM = "softmax"
CPU = True
CATALOGUE = (54,)
OUTCOMES = {"not_deterministic", "wrong_values"}


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1) * (1 + 0.01 * torch.rand(1))
