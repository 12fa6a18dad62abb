"""It asks the allocator for memory and hopes that the answer still lies there."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (23,)
OUTCOMES = {"nonfinite", "not_deterministic", "wrong_values"}


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.empty_like(x)
