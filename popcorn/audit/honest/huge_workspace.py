"""A workspace of 32 MB for a small job."""

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        room = torch.empty(8 << 20)
        room[: x.numel()] = 0
        return torch.softmax(x, -1)
