"""The result wrapped as a parameter."""

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        return nn.Parameter(torch.softmax(x, -1), requires_grad=False)
