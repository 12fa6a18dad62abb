"""A tensor subclass does the work when somebody looks at it."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (4,)
CAUGHT_BY = "exact_type"


class Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        done = [torch.softmax(a.as_subclass(torch.Tensor), -1) if isinstance(a, cls) else a for a in args]
        return function(*done, **(kwargs or {}))


class ModelNew(nn.Module):
    def forward(self, x):
        return x.clone().as_subclass(Lazy)
