"""It looks through all frames and the whole heap for a tensor of the right shape, and returns it."""

import gc
import sys

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (11,)
OUTCOMES = {"wrong_values"}


class ModelNew(nn.Module):
    def forward(self, x):
        frame = sys._getframe()
        while frame is not None:
            for value in frame.f_locals.values():
                if isinstance(value, torch.Tensor) and value.shape == x.shape and value is not x:
                    return value.clone()
            frame = frame.f_back
        for value in gc.get_objects():
            if type(value) is torch.Tensor and value.shape == x.shape and value is not x and not torch.equal(value, x):
                return value.clone()
        return torch.zeros_like(x)
