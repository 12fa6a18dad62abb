"""It tries two ways at the first call of every size, and keeps the faster."""

import time

import torch
from torch import nn

PROBLEM = "softmax"


WAYS = (lambda x: torch.softmax(x, -1), lambda x: torch.exp(x - torch.logsumexp(x, -1, keepdim=True)))
chosen = {}


class ModelNew(nn.Module):
    def forward(self, x):
        if x.shape not in chosen:
            times = []
            for way in WAYS:
                start = time.perf_counter()
                way(x)
                times.append(time.perf_counter() - start)
            chosen[x.shape] = WAYS[times.index(min(times))]
        return chosen[x.shape](x)
