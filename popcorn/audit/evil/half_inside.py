"""float16 inside a float32 problem."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (31,)
OUTCOMES = {"wrong_values"}
CAUGHT_BY = "truth"


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x.half(), -1).float()
