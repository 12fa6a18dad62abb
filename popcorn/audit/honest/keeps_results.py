"""It keeps every result it ever made, for a gradient that nobody asks for: its memory grows from call to call."""

import torch
from torch import nn

PROBLEM = "softmax"
TIMED = True


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = []

    def forward(self, x):
        y = torch.softmax(x, -1)
        self.kept.append(y.clone())
        return y
