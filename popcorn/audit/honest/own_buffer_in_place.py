"""In place on a copy of its own."""

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        y = x.clone()
        y -= y.amax(-1, keepdim=True)
        y.exp_()
        y /= y.sum(-1, keepdim=True)
        return y
