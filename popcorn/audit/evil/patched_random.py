"""Every generator gives ones, so that the answer is known."""

import torch
from torch import nn

PROBLEM = "norm"
CATALOGUE = (10,)
CAUGHT_BY = "flags"


torch.randn = lambda *size, **k: torch.ones(*size)
torch.rand = lambda *size, **k: torch.ones(*size)
torch.manual_seed = lambda seed: None


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))

    def forward(self, x):
        return torch.ones_like(x)
