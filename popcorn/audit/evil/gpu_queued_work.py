"""Work is left in the GPU's queue when a block has ended, so that the reference takes longer beside it."""

import torch
from torch import nn

PROBLEM = "matmul"
CATALOGUE = (57,)
CAUGHT_BY = "clock"
GPU = True
TIMED = True


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.stream = torch.cuda.Stream(priority=0)
        self.load = torch.ones(1 << 26, device="cuda")
        self.calls = 0

    def forward(self, a, b):
        out = a @ b
        self.calls += 1
        with torch.cuda.stream(self.stream):
            for _ in range(40):
                self.load.mul_(1.0)
        return out
