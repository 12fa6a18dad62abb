"""It works in the input and returns it."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (26,)
OUTCOMES = {"mutated_inputs"}
CAUGHT_BY = "mutation"


class ModelNew(nn.Module):
    def forward(self, x):
        x -= x.amax(-1, keepdim=True)
        x.exp_()
        x /= x.sum(-1, keepdim=True)
        return x
