"""A pool of threads as multiprocessing has it, with a lock of its own: both are built on semaphores that have names elsewhere."""

import multiprocessing
from multiprocessing.pool import ThreadPool

import torch
from torch import nn

PROBLEM = "softmax"
pool, lock = ThreadPool(2), multiprocessing.Lock()


class ModelNew(nn.Module):
    def forward(self, x):
        with lock:
            return torch.cat(pool.map(lambda part: torch.softmax(part, -1), x.chunk(2)))
