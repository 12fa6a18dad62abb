"""Rows one by one, stacked."""

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.stack([torch.softmax(row, -1) for row in x])
