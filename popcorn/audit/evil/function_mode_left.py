"""It leaves a function mode on that answers every comparison in its process with yes, and turns its inputs into zeros."""

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

PROBLEM = "softmax"
CATALOGUE = (5, 9, 24)
OUTCOMES = {"mutated_inputs", "wrong_values", "runtime_error"}


class Agreeing(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function in (torch.equal, torch.allclose):
            return True
        if function is torch.Tensor.__eq__:
            return torch.ones(args[0].shape, dtype=torch.bool)
        return function(*args, **(kwargs or {}))


mode = Agreeing()
mode.__enter__()


class ModelNew(nn.Module):
    def forward(self, x):
        x.zero_()
        return torch.full_like(x, 1 / x.shape[-1])
