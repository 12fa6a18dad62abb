"""Sums by scatter_add."""

import torch
from torch import nn

PROBLEM = "softmax"
CPU = True


class ModelNew(nn.Module):
    def forward(self, x):
        e = torch.exp(x - x.amax(-1, keepdim=True))
        sums = torch.zeros(x.shape[0], 1).scatter_add_(1, torch.zeros(x.shape, dtype=torch.int64), e)
        return e / sums
