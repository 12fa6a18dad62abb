"""detach, data and clone, all at once."""

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1).detach().data.clone()
