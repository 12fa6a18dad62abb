"""A plain tensor with a method `detach` of its own that makes the values when somebody copies the result, outside the window."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (4, 5)
OUTCOMES = {"wrong_values", "not_deterministic", "nonfinite"}
CAUGHT_BY = "truth"


class ModelNew(nn.Module):
    def forward(self, x):
        result = torch.empty_like(x)
        result.detach = lambda: torch.softmax(x, -1)
        return result
