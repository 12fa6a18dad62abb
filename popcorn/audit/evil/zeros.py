"""Zeros where outputs are small."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (28,)
OUTCOMES = {"wrong_values"}
CAUGHT_BY = "truth"


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
