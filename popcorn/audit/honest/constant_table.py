"""A table of 65,536 constants, made at import."""

import torch
from torch import nn

PROBLEM = "softmax"


TABLE = torch.cos(torch.arange(65536) * 0.0)


class ModelNew(nn.Module):
    def forward(self, x):
        assert TABLE.numel() == 65536
        y = x - x.amax(-1, keepdim=True)
        e = torch.exp(y) * TABLE[0]
        return e / e.sum(-1, keepdim=True)
