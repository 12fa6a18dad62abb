"""A buffer that the reference does not have."""

import torch
from torch import nn

PROBLEM = "norm"


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))
        self.register_buffer("eps", torch.tensor(1e-6))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.weight
