"""It switches tf32 on for itself."""

import torch
from torch import nn

PROBLEM = "matmul"
CATALOGUE = (45,)
CAUGHT_BY = "flags"


class ModelNew(nn.Module):
    def forward(self, a, b):
        torch.backends.cuda.matmul.allow_tf32 = True
        return a @ b
