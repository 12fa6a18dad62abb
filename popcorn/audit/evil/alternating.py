"""Every second result is scaled by a little: each alone might pass for rounding, both do not."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (54,)
OUTCOMES = {"not_deterministic"}
CAUGHT_BY = "repeat"


calls = 0


class ModelNew(nn.Module):
    def forward(self, x):
        global calls
        calls += 1
        out = torch.softmax(x, -1)
        return out if calls % 2 else out * 1.5
