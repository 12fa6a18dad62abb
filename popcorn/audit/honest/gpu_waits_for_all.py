"""It waits for the whole device before it returns, as careful people do."""

import torch
from torch import nn

PROBLEM = "matmul"
GPU = True
TIMED = True


class ModelNew(nn.Module):
    def forward(self, a, b):
        out = a @ b
        torch.cuda.synchronize()
        return out
