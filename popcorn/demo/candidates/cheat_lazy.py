"""A cheat, for the demo: the call returns at once with a tensor that does the work when somebody looks at it, after the clock has stopped.

Popcorn takes plain tensors alone, in the trials and in timed calls.
"""

import torch
from torch import nn


class LazySoftmax(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        done = [torch.softmax(a.as_subclass(torch.Tensor), -1) if isinstance(a, cls) else a for a in args]
        return function(*done, **(kwargs or {}))


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.clone().as_subclass(LazySoftmax)
