"""Two outputs of three."""

import torch
from torch import nn

PROBLEM = "moments"
CATALOGUE = (27,)
OUTCOMES = {"wrong_shape"}
CAUGHT_BY = "structure"


class ModelNew(nn.Module):
    def forward(self, x):
        return x.mean(-1) + 1, x.var(-1, unbiased=False) + 1
