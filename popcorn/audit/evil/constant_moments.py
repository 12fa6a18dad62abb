"""Mean 0 and variance 1, as of many normal numbers."""

import torch
from torch import nn

PROBLEM = "moments"
CPU = True
CATALOGUE = (28, 29)
OUTCOMES = {"wrong_values"}
CAUGHT_BY = "truth"


class ModelNew(nn.Module):
    def forward(self, x):
        rows = x.shape[0]
        return torch.ones(rows), torch.full((rows,), 2.0), x.argmax(-1)
