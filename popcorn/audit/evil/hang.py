"""It never returns."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (57,)
OUTCOMES = {"timeout"}


class ModelNew(nn.Module):
    def forward(self, x):
        while True:
            pass
