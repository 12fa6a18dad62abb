"""It keeps the weight of the first model for all that follow."""

import torch
from torch import nn

PROBLEM = "norm"
CPU = True
CATALOGUE = (20, 37)
OUTCOMES = {"wrong_values"}


kept = {}


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))

    def forward(self, x):
        scale = kept.setdefault(x.shape[-1], self.weight.detach().clone())
        scale = kept.setdefault("first", scale)
        scale = scale[: x.shape[-1]] if len(scale) >= x.shape[-1] else torch.cat([scale, torch.ones(x.shape[-1] - len(scale))])
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * scale
