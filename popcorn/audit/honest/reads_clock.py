"""It reads the clock, for its own tuning."""

import time

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        self.last_s = time.perf_counter()
        return torch.softmax(x, -1)
