"""Softmax without the maximum: it overflows where inputs are large."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (32,)
OUTCOMES = {"nonfinite", "wrong_values"}
CAUGHT_BY = "truth"


class ModelNew(nn.Module):
    def forward(self, x):
        e = torch.exp(x)
        return e / e.sum(-1, keepdim=True)
