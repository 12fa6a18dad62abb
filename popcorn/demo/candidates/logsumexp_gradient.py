"""Log-sum-exp over the leading dimension with a backward of its own: the gradient is exp(x - out), nothing else is kept."""

import torch
from torch import nn


class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor) -> torch.Tensor:
        largest = x.amax(0)
        out = (x - largest).exp_().sum(0).log_().add_(largest)
        ctx.save_for_backward(x, out)
        return out

    @staticmethod
    def backward(ctx, grad: torch.Tensor) -> torch.Tensor:
        x, out = ctx.saved_tensors
        return (x - out).exp_().mul_(grad)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return LogSumExp.apply(x)
