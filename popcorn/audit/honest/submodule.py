"""The weight in a submodule of the same shape."""

import torch
from torch import nn

PROBLEM = "norm"


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(1 + 0.2 * torch.randn(features))

    def norm(self, x):
        return nn.functional.rms_norm(x, x.shape[-1:], self.weight, 1e-6)

    def forward(self, x):
        return self.norm(x)
