"""It registers a last word at exit, as loggers do."""

import atexit

import torch
from torch import nn

PROBLEM = "softmax"
atexit.register(print, "done")


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1)
