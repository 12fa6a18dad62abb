"""Threads for parts of the rows, all joined."""

import threading

import torch
from torch import nn

PROBLEM = "softmax"
CPU = True


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty(x.shape)
        half = x.shape[0] // 2

        def part(start, stop):
            out[start:stop] = torch.softmax(x[start:stop], -1)

        threads = [threading.Thread(target=part, args=bounds) for bounds in ((0, half), (half, x.shape[0]))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return out
