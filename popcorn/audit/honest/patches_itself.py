"""It replaces its own method after the first call."""

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        self.forward = lambda y: torch.softmax(y, -1)
        return torch.softmax(x, -1)
