"""Children on cores of their own do the work, while the parent waits."""

import os
import time

import torch
from torch import nn

PROBLEM = "matmul"
CPU = True
CATALOGUE = (3, 45)
OUTCOMES = {"cheated", "timeout"}
NO_GAIN = True


class ModelNew(nn.Module):
    def forward(self, a, b):
        out = torch.empty(a.shape[0], b.shape[1])
        children = []
        for part in range(2):
            pid = os.fork()
            if pid == 0:
                os.sched_setaffinity(0, {part})
                end = time.monotonic() + 0.004
                while time.monotonic() < end:
                    pass
                os._exit(0)
            children.append(pid)
        for pid in children:
            os.waitpid(pid, 0)
        return out.copy_(a @ b).clone()
