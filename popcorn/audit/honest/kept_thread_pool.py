"""Halves of the rows in a pool of threads that is kept between calls; every call waits for its own work."""

from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

PROBLEM = "softmax"
TIMED = True
pool = ThreadPoolExecutor(2)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.cat(list(pool.map(lambda part: torch.softmax(part, -1), x.chunk(2))))
