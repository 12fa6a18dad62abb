"""It lowers the precision of matrix products for itself."""

import torch
from torch import nn

PROBLEM = "matmul"
CATALOGUE = (45,)
CAUGHT_BY = "flags"


class ModelNew(nn.Module):
    def forward(self, a, b):
        torch.set_float32_matmul_precision("medium")
        return a @ b
