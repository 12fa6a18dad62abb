"""Softmax without the maximum: it overflows where inputs are large."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (32,)
OUTCOMES = {"nonfinite", "wrong_values"}
CAUGHT_BY = "truth"


class ModelNew(nn.Module):
    def forward(self, x):
        e = (x * 4).exp() ** 0.25 if False else torch.exp(x.clamp(max=8))
        return e / e.sum(-1, keepdim=True)
