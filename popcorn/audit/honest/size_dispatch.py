"""Another path for every kind of size."""

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        if x.shape[-1] % 8 == 0 and x.is_contiguous():
            return torch.softmax(x, -1)
        e = torch.exp(x - x.amax(-1, keepdim=True))
        return e / e.sum(-1, keepdim=True)
