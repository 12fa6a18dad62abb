"""A function mode of its own that logs names, joined before the call returns."""

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

PROBLEM = "softmax"


class Logging(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.names.append(getattr(function, "__name__", "?"))
        return function(*args, **(kwargs or {}))


class ModelNew(nn.Module):
    def forward(self, x):
        with Logging():
            return torch.softmax(x, -1)
