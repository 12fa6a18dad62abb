"""An autograd.Function of its own."""

import torch
from torch import nn

PROBLEM = "softmax"
BACKWARD = True


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = torch.softmax(x, -1)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, grad):
        (out,) = ctx.saved_tensors
        return out * (grad - (grad * out).sum(-1, keepdim=True))


class ModelNew(nn.Module):
    def forward(self, x):
        return Softmax.apply(x)
