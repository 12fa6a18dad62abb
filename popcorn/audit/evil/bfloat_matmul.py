"""bfloat16 factors in a float32 product."""

import torch
from torch import nn

PROBLEM = "matmul"
CATALOGUE = (31, 43)
OUTCOMES = {"wrong_values"}
CAUGHT_BY = "truth"


class ModelNew(nn.Module):
    def forward(self, a, b):
        return (a.bfloat16() @ b.bfloat16()).float()
