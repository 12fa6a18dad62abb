"""Mean and variance from one call."""

import torch
from torch import nn

PROBLEM = "moments"


class ModelNew(nn.Module):
    def forward(self, x):
        variance, mean = torch.var_mean(x, -1, correction=0)
        return mean + 1, variance + 1, torch.max(x, -1).indices
