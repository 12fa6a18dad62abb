"""It fills every tensor that it can find with NaN, and returns NaN."""

import gc

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (12,)
OUTCOMES = {"mutated_inputs", "nonfinite", "runtime_error"}


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.full_like(x, float("nan"))
        for value in gc.get_objects():
            if type(value) is torch.Tensor and value.is_floating_point() and value is not x:
                value.fill_(float("nan"))
        return out
