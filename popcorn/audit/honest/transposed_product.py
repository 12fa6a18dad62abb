"""A product of transposes."""

import torch
from torch import nn

PROBLEM = "matmul"


class ModelNew(nn.Module):
    def forward(self, a, b):
        return (b.t() @ a.t()).t()
