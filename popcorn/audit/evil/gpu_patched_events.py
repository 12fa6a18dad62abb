"""CUDA events report a twentieth of the time."""

import torch
from torch import nn

PROBLEM = "matmul"
CATALOGUE = (6,)
CAUGHT_BY = "flags"
GPU = True
TIMED = True


elapsed = torch.cuda.Event.elapsed_time
torch.cuda.Event.elapsed_time = lambda self, other: elapsed(self, other) / 20
torch.cuda.synchronize = lambda device=None: None


class ModelNew(nn.Module):
    def forward(self, a, b):
        return a @ b
