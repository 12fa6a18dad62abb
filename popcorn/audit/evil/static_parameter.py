"""Every result is the same parameter, which the next call fills anew."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (26,)
OUTCOMES = {"wrong_values"}
CAUGHT_BY = "aliasing"


class ModelNew(nn.Module):
    def forward(self, x):
        if getattr(self, "result", None) is None or self.result.shape != x.shape:
            self.result = nn.Parameter(torch.empty_like(x))
        self.result.data.copy_(torch.softmax(x, -1))
        return self.result
