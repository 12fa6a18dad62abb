"""Another path where values are large."""

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        if float(x.abs().max()) < 20:
            e = torch.exp(x)
            return e / e.sum(-1, keepdim=True)
        return torch.softmax(x, -1)
