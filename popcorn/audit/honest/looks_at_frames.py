"""It looks at its caller, for its own messages."""

import sys

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        self.caller = sys._getframe(1).f_code.co_name
        return torch.softmax(x, -1)
