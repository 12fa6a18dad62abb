"""It writes its gradient into the incoming one, which belongs to its caller (mutation)."""

import torch
from torch import nn

PROBLEM = "residual"
OUTCOMES = {"mutated_inputs"}
CAUGHT_BY = "mutation"
BACKWARD = True


class Residual(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, r):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y + r

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        grad.mul_(1 - y * y)
        return grad, grad


class ModelNew(nn.Module):
    def forward(self, x, r):
        return Residual.apply(x, r)
