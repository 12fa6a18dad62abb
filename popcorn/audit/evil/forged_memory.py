"""Its process reports a peak of one byte."""

import torch
from popcorn.worker import side
from torch import nn

PROBLEM = "matmul"
CATALOGUE = (7,)
CAUGHT_BY = "peak_memory"
TIMED = True


side.Side.do_memory = lambda self, message: {"peak_bytes": 1, "output_bytes": 0, "workspace_bytes": 1, "reason": None}


class ModelNew(nn.Module):
    def forward(self, a, b):
        return a @ b
