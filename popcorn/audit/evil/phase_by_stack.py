"""It looks at the stack, and does nothing where a block is timed."""

import sys

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (22,)
OUTCOMES = {"wrong_values"}
CAUGHT_BY = "truth"
TIMED = True


class ModelNew(nn.Module):
    def forward(self, x):
        frame = sys._getframe()
        while frame is not None:
            if frame.f_code.co_name in ("do_block", "do_warm"):
                return torch.empty_like(x).fill_(1 / x.shape[-1])
            frame = frame.f_back
        return torch.softmax(x, -1)
