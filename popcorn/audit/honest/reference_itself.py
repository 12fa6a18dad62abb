"""The library's own function: allowed, and recorded as such."""

import torch
from torch import nn

PROBLEM = "norm"
TIMED = True


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))

    def forward(self, x):
        return nn.functional.rms_norm(x, x.shape[-1:], self.weight, 1e-6)
