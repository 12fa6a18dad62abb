"""Right for multiples of 16 alone."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (35,)
OUTCOMES = {"wrong_values"}
CAUGHT_BY = "truth"


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.zeros_like(x)
        whole = x.shape[0] // 16 * 16
        out[:whole] = torch.softmax(x[:whole], -1)
        return out
