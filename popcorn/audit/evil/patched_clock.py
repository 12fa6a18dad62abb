"""perf_counter runs twenty times slower."""

import time

import torch
from popcorn.measure import timing
from torch import nn

PROBLEM = "matmul"
CATALOGUE = (6,)
CAUGHT_BY = "flags"
TIMED = True


real = time.perf_counter_ns
start = real()


def slow():
    return start + (real() - start) // 20


time.perf_counter_ns = slow
time.perf_counter = lambda: slow() * 1e-9
timing._clock_ns = slow


class ModelNew(nn.Module):
    def forward(self, a, b):
        return a @ b
