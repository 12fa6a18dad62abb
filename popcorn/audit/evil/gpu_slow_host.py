"""The events tell a twentieth of the time, and the host waits as long as the device works, as if the host were the slow one."""

import torch
from popcorn.measure import timing
from torch import nn

PROBLEM = "matmul"
CATALOGUE = (6, 49)
CAUGHT_BY = "clock"
GPU = True
TIMED = True

elapsed = torch.cuda.Event.elapsed_time


def install():
    init = timing.CudaTimer.__init__

    def patched(self, *args):
        init(self, *args)
        self._elapsed = lambda start, stop: elapsed(start, stop) / 20

    timing.CudaTimer.__init__ = patched


install()


class ModelNew(nn.Module):
    def forward(self, a, b):
        out = a @ b
        torch.cuda.current_stream().synchronize()
        return out
