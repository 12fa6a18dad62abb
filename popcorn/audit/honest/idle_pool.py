"""A pool of threads that stays for the next call."""

from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

PROBLEM = "softmax"
TIMED = True


POOL = ThreadPoolExecutor(4)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.cat(list(POOL.map(lambda rows: torch.softmax(rows, -1), x.chunk(4))))
