"""Outputs nested deeper than anybody can follow."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (5,)
OUTCOMES = {"crash", "runtime_error", "wrong_dtype", "wrong_shape"}


class ModelNew(nn.Module):
    def forward(self, x):
        deep = torch.softmax(x, -1)
        for _ in range(800):
            deep = [deep]
        return deep
