"""The out= form of an operator."""

import torch
from torch import nn

PROBLEM = "softmax"
CPU = True


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty(x.shape)
        torch.exp(x - x.amax(-1, keepdim=True), out=out)
        return out.div_(out.sum(-1, keepdim=True))
