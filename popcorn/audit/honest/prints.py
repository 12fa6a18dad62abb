"""It prints in every call."""

import sys

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        print("softmax of", tuple(x.shape))
        sys.stderr.write("{\"verdict\": \"hello\"}\n")
        return torch.softmax(x, -1)
