"""It copies rows by raw pointers, within its own tensors."""

import ctypes

import torch
from torch import nn

PROBLEM = "softmax"
CPU = True


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.softmax(x, -1).contiguous()
        out = torch.empty_like(y)
        ctypes.memmove(out.data_ptr(), y.data_ptr(), y.numel() * y.element_size())
        return out
