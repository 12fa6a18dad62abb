"""A trace made at the first call and kept per size."""

import torch
from torch import nn

PROBLEM = "softmax"


traces = {}


class ModelNew(nn.Module):
    def forward(self, x):
        if x.shape not in traces:
            traces[x.shape] = torch.jit.trace(lambda t: torch.softmax(t, -1), (x,))
        return traces[x.shape](x)
