"""It changes the default dtype for everybody."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (45,)
CAUGHT_BY = "flags"


class ModelNew(nn.Module):
    def forward(self, x):
        torch.set_default_dtype(torch.bfloat16)
        return torch.softmax(x, -1)
