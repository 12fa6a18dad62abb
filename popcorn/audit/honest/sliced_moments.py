"""Outputs that share a buffer with each other."""

import torch
from torch import nn

PROBLEM = "moments"


class ModelNew(nn.Module):
    def forward(self, x):
        both = torch.stack([x.mean(-1) + 1, x.var(-1, unbiased=False) + 1])
        return both[0], both[1], x.argmax(-1)
