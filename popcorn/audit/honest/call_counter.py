"""It counts its calls."""

import torch
from torch import nn

PROBLEM = "softmax"


calls = 0


class ModelNew(nn.Module):
    def forward(self, x):
        global calls
        calls += 1
        return torch.softmax(x, -1)
