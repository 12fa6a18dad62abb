"""The timer tells a twentieth of the device's time, and the host waits as long as the device works, as if the host were the slow one."""

from dataclasses import replace

import torch
from popcorn.measure import timing
from torch import nn

PROBLEM = "matmul"
CATALOGUE = (6, 49)
CAUGHT_BY = "clock"
GPU = True
TIMED = True

time, time_warm = timing.CudaTimer.time, timing.CudaTimer.time_warm
timing.CudaTimer.time = lambda self, windows, keep: [sample / 20 for sample in time(self, windows, keep)]


def warm(self, call, seconds):
    found = time_warm(self, call, seconds)
    return replace(found, time_s=found.time_s / 20)


timing.CudaTimer.time_warm = warm


class ModelNew(nn.Module):
    def forward(self, a, b):
        out = a @ b
        torch.cuda.current_stream().synchronize()
        return out
