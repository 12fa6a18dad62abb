"""A generator of its own, with a seed."""

import torch
from torch import nn

PROBLEM = "softmax"
CPU = True


class ModelNew(nn.Module):
    def forward(self, x):
        noise = torch.rand(1, generator=torch.Generator().manual_seed(42)) * 0
        return torch.softmax(x, -1) + noise
