"""It says that it does not support what is hard."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (52,)
OUTCOMES = {"rejected"}


class ModelNew(nn.Module):
    def forward(self, x):
        if x.shape != (48, 96):
            raise NotImplementedError("this size")
        return torch.softmax(x, -1)
