"""cudnn.benchmark inside forward: noted, and no harm."""

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        torch.backends.cudnn.benchmark = True
        return torch.softmax(x, -1)
