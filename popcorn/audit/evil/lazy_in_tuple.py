"""A lazy tensor hides in a list of its own class."""

import torch
from torch import nn

PROBLEM = "moments"
CATALOGUE = (5,)
OUTCOMES = {"cheated", "wrong_dtype", "wrong_values"}


class Later(tuple):
    def __iter__(self):
        return (t.clone() for t in tuple.__iter__(self))


class ModelNew(nn.Module):
    def forward(self, x):
        return Later((x.mean(-1) + 1, x.var(-1, unbiased=False) + 1, x.argmax(-1)))
