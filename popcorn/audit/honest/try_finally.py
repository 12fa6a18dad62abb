"""try and finally around the work."""

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        try:
            return torch.softmax(x, -1)
        finally:
            self.calls = getattr(self, "calls", 0) + 1
