"""Ten times slower than it needs to be."""

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        for _ in range(10):
            out = torch.softmax(x, -1)
        return out
