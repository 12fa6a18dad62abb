"""The tuple by way of a list."""

import torch
from torch import nn

PROBLEM = "moments"


class ModelNew(nn.Module):
    def forward(self, x):
        return tuple([x.mean(-1) + 1, x.var(-1, unbiased=False) + 1, x.argmax(-1)])
