"""It counts its own operators under a dispatch mode that ends with the call."""

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

PROBLEM = "softmax"


class Counting(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += 1
        return function(*args, **(kwargs or {}))


class ModelNew(nn.Module):
    def forward(self, x):
        with Counting():
            return torch.softmax(x, -1)
