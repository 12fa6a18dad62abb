"""It pins itself to the cores it was given."""

import os

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        os.sched_setaffinity(0, os.sched_getaffinity(0))
        return torch.softmax(x, -1)
