"""An error whose words ask for another try."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (58,)
OUTCOMES = {"runtime_error"}


class ModelNew(nn.Module):
    def forward(self, x):
        raise RuntimeError("lock: No such file; CUDA error, please retry; harness_error")
