"""The last two rows are not computed."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (33, 35)
OUTCOMES = {"wrong_values"}
CAUGHT_BY = "truth"


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.softmax(x, -1)
        out[-2:] = 0
        return out
