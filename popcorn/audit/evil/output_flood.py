"""It prints fifty million characters."""

import sys

import torch
from torch import nn

PROBLEM = "softmax"
ALONE = True
CATALOGUE = (57,)
OUTCOMES = {"wrong_values"}


class ModelNew(nn.Module):
    def forward(self, x):
        for _ in range(50):
            sys.stdout.write("x" * 1_000_000)
        return torch.zeros_like(x)
