"""It calls its lazy class torch.Tensor."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (4, 5)
CAUGHT_BY = "exact_type"


class Tensor(torch.Tensor):
    __module__ = "torch"

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        done = [torch.softmax(a.as_subclass(torch.Tensor), -1) if isinstance(a, cls) else a for a in args]
        return function(*done, **(kwargs or {}))


class ModelNew(nn.Module):
    def forward(self, x):
        return x.clone().as_subclass(Tensor)
