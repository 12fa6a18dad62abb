"""It times two ways with events of its own at the first call of a size, and keeps the faster."""

import torch
from torch import nn

PROBLEM = "softmax"
GPU = True

WAYS = (lambda x: torch.softmax(x, -1), lambda x: torch.exp(x - torch.logsumexp(x, -1, keepdim=True)))
chosen = {}


def seconds(way, x):
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    way(x)
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) * 1e-3


class ModelNew(nn.Module):
    def forward(self, x):
        if x.shape not in chosen:
            chosen[x.shape] = min(WAYS, key=lambda way: seconds(way, x))
        return chosen[x.shape](x)
