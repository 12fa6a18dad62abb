"""It keeps a plan for each shape it has seen, in a cache: sizes of blocks, no results."""

import functools

import torch
from torch import nn

PROBLEM = "softmax"


@functools.lru_cache(maxsize=64)
def plan(rows, width):
    step = max(1, 4096 // width)
    return [(start, min(rows, start + step)) for start in range(0, rows, step)]


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.cat([torch.softmax(x[start:end], -1) for start, end in plan(*x.shape)])
