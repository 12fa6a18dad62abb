"""The gradient of the weight is that of another problem."""

import torch
from torch import nn

PROBLEM = "norm"
CATALOGUE = (27, 30)
OUTCOMES = {"wrong_values"}
CAUGHT_BY = "truth"
BACKWARD = True


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * (self.weight.detach() + 0 * self.weight)
