"""It closes every descriptor of its process."""

import os

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (13,)
OUTCOMES = {"crash"}


class ModelNew(nn.Module):
    def forward(self, x):
        os.closerange(3, 256)
        return torch.softmax(x, -1)
