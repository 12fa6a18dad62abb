"""Right in nine calls of ten."""

import os

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (54,)
OUTCOMES = {"not_deterministic", "wrong_values"}
TIMED = True


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.softmax(x, -1)
        return out if os.urandom(1)[0] > 25 else out * 0
