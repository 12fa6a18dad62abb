"""The weight drawn as the reference draws it, under another name."""

import torch
from torch import nn

PROBLEM = "norm"


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.gain = nn.Parameter(1 + 0.2 * torch.randn(features))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.gain
