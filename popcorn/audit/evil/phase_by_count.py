"""Honest for as many calls as a trial takes, then zeros."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (22,)
OUTCOMES = {"wrong_values"}
CAUGHT_BY = "truth"
TIMED = True


calls = 0


class ModelNew(nn.Module):
    def forward(self, x):
        global calls
        calls += 1
        return torch.softmax(x, -1) if calls < 40 else torch.zeros_like(x)
