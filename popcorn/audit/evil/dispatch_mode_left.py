"""It leaves a dispatch mode on that gives zeros instead of every copy of a result."""

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

PROBLEM = "softmax"
CATALOGUE = (5, 9)
OUTCOMES = {"runtime_error", "wrong_values", "mutated_inputs", "crash"}


class Nothing(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if "exp" in str(function) or "softmax" in str(function):
            return torch.zeros_like(args[0])
        return function(*args, **(kwargs or {}))


Nothing().__enter__()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1)
