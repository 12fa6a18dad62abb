"""Atomics in disguise: index_add."""

import torch
from torch import nn

PROBLEM = "softmax"
CPU = True


class ModelNew(nn.Module):
    def forward(self, x):
        e = torch.exp(x - x.amax(-1, keepdim=True))
        rows = torch.arange(x.shape[0]).repeat_interleave(x.shape[1])
        sums = torch.zeros(x.shape[0]).index_add_(0, rows, e.reshape(-1))
        return e / sums[:, None]
