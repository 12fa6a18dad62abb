"""Through vector_norm."""

import torch
from torch import nn

PROBLEM = "norm"


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))

    def forward(self, x):
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        return x * torch.rsqrt(length * length / x.shape[-1] + 1e-6) * self.weight
