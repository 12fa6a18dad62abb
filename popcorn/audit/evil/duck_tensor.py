"""An object with __torch_function__ stands for the output."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (5,)
OUTCOMES = {"cheated", "wrong_dtype"}


class Duck:
    def __init__(self, x):
        self.x = x

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return function(*[torch.softmax(a.x, -1) if isinstance(a, cls) else a for a in args], **(kwargs or {}))


class ModelNew(nn.Module):
    def forward(self, x):
        return Duck(x)
