"""It forks as far as it may."""

import os
import time

import torch
from torch import nn

PROBLEM = "softmax"
ALONE = True
CATALOGUE = (57,)
OUTCOMES = {"crash", "runtime_error", "wrong_values"}


class ModelNew(nn.Module):
    def forward(self, x):
        for _ in range(40):
            if os.fork() == 0:
                os.setsid()
                time.sleep(60)
                os._exit(0)
        return torch.zeros_like(x)
