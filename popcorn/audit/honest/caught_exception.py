"""An exception of its own, raised and caught on every call."""

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        try:
            raise ValueError("go the other way")
        except ValueError:
            return torch.softmax(x, -1)
