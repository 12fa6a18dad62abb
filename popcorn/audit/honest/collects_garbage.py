"""It collects garbage and freezes what it has."""

import gc

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        gc.collect()
        return torch.softmax(x, -1)
