"""Through vmap."""

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.vmap(lambda row: torch.softmax(row, -1))(x)
