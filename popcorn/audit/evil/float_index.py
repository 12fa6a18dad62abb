"""The index of the largest element as a float."""

import torch
from torch import nn

PROBLEM = "moments"
CATALOGUE = (27,)
OUTCOMES = {"wrong_dtype"}
CAUGHT_BY = "structure"


class ModelNew(nn.Module):
    def forward(self, x):
        return x.mean(-1) + 1, x.var(-1, unbiased=False) + 1, x.argmax(-1).float()
