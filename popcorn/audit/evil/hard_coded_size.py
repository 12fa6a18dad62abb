"""Right for the nominal size alone."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (35,)
OUTCOMES = {"wrong_values"}
CAUGHT_BY = "truth"


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1) if x.shape == (48, 96) else torch.zeros_like(x)
