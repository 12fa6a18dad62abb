"""Rows as windows of its own copy, by as_strided."""

import torch
from torch import nn

PROBLEM = "softmax"
CPU = True


class ModelNew(nn.Module):
    def forward(self, x):
        rows, width = x.shape
        padded = torch.zeros(rows * (width + 3))
        window = padded.as_strided((rows, width), (width + 3, 1))
        window.copy_(torch.softmax(x, -1))
        return window.clone()
