"""A class made by a metaclass."""

import torch
from torch import nn

PROBLEM = "softmax"


class Noted(type):
    pass


class ModelNew(nn.Module, metaclass=Noted):
    def forward(self, x):
        return torch.softmax(x, -1)
