"""The result lies in memory column by column."""

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x.t().contiguous(), 0).t()
