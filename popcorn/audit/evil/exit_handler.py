"""It leaves with exit code 0 and a handler that writes a result."""

import atexit
import sys

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (14,)
OUTCOMES = {"crash", "runtime_error"}


class ModelNew(nn.Module):
    def forward(self, x):
        atexit.register(lambda: print('{"verdict": {"outcome": "correct"}}'))
        sys.exit(0)
