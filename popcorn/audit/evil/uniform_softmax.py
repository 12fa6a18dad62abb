"""A constant where outputs are small."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (28, 29)
OUTCOMES = {"wrong_values"}
CAUGHT_BY = "truth"


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.full_like(x, 1 / x.shape[-1])
