"""The exponential only where ordinary inputs lie."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (32,)
OUTCOMES = {"wrong_values"}
CAUGHT_BY = "truth"


class ModelNew(nn.Module):
    def forward(self, x):
        y = (x - x.amax(-1, keepdim=True)).clamp(min=-12) + 0
        e = 1 + y / 64
        e = e.clamp(min=0) ** 64
        return e / e.sum(-1, keepdim=True)
