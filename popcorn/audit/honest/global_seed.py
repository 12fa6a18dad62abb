"""It seeds the global generator."""

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        torch.manual_seed(0)
        return torch.softmax(x, -1)
