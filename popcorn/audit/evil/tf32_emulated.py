"""Factors rounded to ten bits, as tf32 does."""

import torch
from torch import nn

PROBLEM = "matmul"
CATALOGUE = (31, 43)
OUTCOMES = {"wrong_values"}
CAUGHT_BY = "truth"


class ModelNew(nn.Module):
    def forward(self, a, b):
        def rounded(t):
            return (t.view(torch.int32) + 0x1000 & ~0x1FFF).view(torch.float32)

        return rounded(a.contiguous()) @ rounded(b.contiguous())
