"""A softmax that holds for values of ordinary size alone: no maximum is taken, and far values are cut off."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (29, 32)
OUTCOMES = {"nonfinite", "wrong_values"}
CAUGHT_BY = "truth"


class ModelNew(nn.Module):
    def forward(self, x):
        e = x.clamp(-8, 8).exp()
        return e / e.sum(-1, keepdim=True)
