"""try around an import that may be missing."""

import torch
from torch import nn

PROBLEM = "softmax"


try:
    import triton
except ImportError:
    triton = None
try:
    import a_package_that_nobody_has
except ImportError:
    a_package_that_nobody_has = None


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1)
