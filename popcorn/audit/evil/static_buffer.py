"""Every result lies in the same buffer, and the next call overwrites it."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (26,)
OUTCOMES = {"wrong_values"}
CAUGHT_BY = "aliasing"


kept = {}


class ModelNew(nn.Module):
    def forward(self, x):
        if kept.get("shape") != x.shape:
            kept.update(shape=x.shape, out=torch.empty_like(x))
        torch.softmax(x, -1, out=kept["out"]) if False else kept["out"].copy_(torch.softmax(x, -1))
        return kept["out"]
