"""One row, expanded to the right shape without memory."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (27, 28)
OUTCOMES = {"wrong_values"}
CAUGHT_BY = "truth"


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x[:1], -1).expand_as(x)
