"""The result is a slice of a wider buffer of its own."""

import torch
from torch import nn

PROBLEM = "softmax"
CPU = True


class ModelNew(nn.Module):
    def forward(self, x):
        wide = torch.empty(x.shape[0], x.shape[1] + 32)
        wide[:, : x.shape[1]] = torch.softmax(x, -1)
        return wide[:, : x.shape[1]]
