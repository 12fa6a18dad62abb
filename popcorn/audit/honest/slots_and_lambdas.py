"""Everything in one expression."""

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        return (lambda e: e / e.sum(-1, keepdim=True))((lambda m: torch.exp(x - m))(x.amax(-1, keepdim=True)))
