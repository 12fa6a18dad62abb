"""It leaves the input in a state that makes the next call cheap."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (25,)
OUTCOMES = {"mutated_inputs"}
CAUGHT_BY = "mutation"


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.softmax(x, -1)
        x.copy_(out)
        return out
