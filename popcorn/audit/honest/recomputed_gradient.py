"""A backward that computes the forward again."""

import torch
from torch import nn

PROBLEM = "norm"
BACKWARD = True


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))

    def forward(self, x):
        return torch.utils.checkpoint.checkpoint(lambda y: y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-6) * self.weight, x, use_reentrant=False)
