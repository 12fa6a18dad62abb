"""It zeroes the input, so that zero is right for whoever comes after."""

import torch
from torch import nn

PROBLEM = "norm"
CATALOGUE = (24,)
OUTCOMES = {"mutated_inputs"}
CAUGHT_BY = "mutation"


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))

    def forward(self, x):
        x.zero_()
        return torch.zeros_like(x)
