"""The gradient of a residual is the incoming one: autograd hands the very tensor through, call after call, and overwrites nothing."""

import torch
from torch import nn

PROBLEM = "residual"
BACKWARD = True
TIMED = True


class ModelNew(nn.Module):
    def forward(self, x, r):
        return torch.tanh(x) + r
