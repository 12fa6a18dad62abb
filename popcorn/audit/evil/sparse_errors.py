"""One element in a thousand is wrong by a tenth."""

import torch
from torch import nn

PROBLEM = "matmul"
CATALOGUE = (33, 34)
OUTCOMES = {"wrong_values"}
CAUGHT_BY = "truth"


class ModelNew(nn.Module):
    def forward(self, a, b):
        out = a @ b
        out.view(-1)[::997] *= 1.1
        return out
