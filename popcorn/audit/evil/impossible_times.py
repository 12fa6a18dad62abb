"""Its process reports times that are no times."""

import torch
from popcorn.worker import side
from torch import nn

PROBLEM = "matmul"
CATALOGUE = (51, 56)
CAUGHT_BY = "clock"
TIMED = True


side.Side.do_block = lambda self, message: {"samples_s": [0.0, -1.0], "aliens": [], "flags": {}}


class ModelNew(nn.Module):
    def forward(self, a, b):
        return a @ b
