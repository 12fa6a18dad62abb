"""It reads and sets variables of its environment."""

import os

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        os.environ["KERNEL_DEBUG"] = os.environ.get("KERNEL_DEBUG", "0")
        return torch.softmax(x, -1)
