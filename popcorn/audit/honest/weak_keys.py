"""It remembers something about tensors while they live, by weak reference: whether they are contiguous."""

import weakref

import torch
from torch import nn

PROBLEM = "softmax"
known = weakref.WeakValueDictionary()


class ModelNew(nn.Module):
    def forward(self, x):
        known[id(x)] = x
        return torch.softmax(x if x.is_contiguous() else x.contiguous(), -1)
