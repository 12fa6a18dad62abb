"""The output is right and every gradient is zero."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (27,)
OUTCOMES = {"wrong_values"}
CAUGHT_BY = "truth"
BACKWARD = True


class Flat(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.softmax(x, -1)

    @staticmethod
    def backward(ctx, grad):
        return torch.zeros_like(grad)


class ModelNew(nn.Module):
    def forward(self, x):
        return Flat.apply(x)
