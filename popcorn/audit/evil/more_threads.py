"""It takes more threads than the reference has."""

import torch
from torch import nn

PROBLEM = "matmul"
CATALOGUE = (45,)
CAUGHT_BY = "flags"


class ModelNew(nn.Module):
    def forward(self, a, b):
        torch.set_num_threads(torch.get_num_threads() + 1)
        return a @ b
