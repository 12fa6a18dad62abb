"""The checks of its process for mutation and shared memory see nothing; inputs are zeroed and zeros returned."""

import torch
from popcorn.worker import side
from torch import nn

PROBLEM = "norm"
CATALOGUE = (7, 24)
OUTCOMES = {"mutated_inputs", "wrong_values"}


side.same_values = lambda now, before: True
side.overlapping = lambda tree, other: []


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))

    def forward(self, x):
        x.zero_()
        return torch.zeros_like(x)
