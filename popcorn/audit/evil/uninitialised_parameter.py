"""It returns a parameter that is not there yet and would be made when somebody needs it."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (4, 5)
OUTCOMES = {"cheated", "runtime_error", "wrong_shape"}


class ModelNew(nn.Module):
    def forward(self, x):
        return nn.parameter.UninitializedParameter()
