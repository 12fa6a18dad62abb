"""torch.empty, filled completely."""

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        for i in range(x.shape[0]):
            out[i] = torch.softmax(x[i], -1)
        return out
