"""It asks for a hundred thousand times the memory there is."""

import torch
from torch import nn

PROBLEM = "softmax"
CPU = True
ALONE = True
CATALOGUE = (57,)
OUTCOMES = {"crash", "out_of_memory", "runtime_error"}


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.empty(1 << 45)[: x.numel()].reshape(x.shape)
