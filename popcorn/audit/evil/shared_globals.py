"""It changes sizes and functions that a reference in the same process would use."""

import sys

import torch
from torch import nn

PROBLEM = "norm"
CATALOGUE = (43,)
OUTCOMES = {"runtime_error", "wrong_values"}


for module in list(sys.modules.values()):
    for name in ("B", "D", "N", "Model", "get_inputs"):
        if hasattr(module, name) and module.__name__ != __name__:
            setattr(module, name, 1)
nn.functional.rms_norm = torch.rsqrt = lambda *a, **k: torch.zeros(1)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))

    def forward(self, x):
        return torch.zeros_like(x)
