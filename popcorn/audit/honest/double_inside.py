"""float64 inside."""

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x.double(), -1).float()
