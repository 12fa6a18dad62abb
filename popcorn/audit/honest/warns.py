"""It warns and logs."""

import logging
import warnings

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        warnings.warn("a slow path", stacklevel=2)
        logging.getLogger("kernel").error("a lock: CUDA error, retry")
        return torch.softmax(x, -1)
