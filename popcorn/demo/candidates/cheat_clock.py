"""A cheat, for the demo: the values are right, and every time that its own process reports is a twentieth of the truth.

Popcorn times a candidate in the candidate's process, where Python lets it change anything. So the parent, which the candidate cannot
reach, times batches of calls by its own clock, and the two must agree.
"""

import dataclasses

import torch
from popcorn.measure import timing
from torch import nn

SHRINK = 20


def shrunk(method):
    def claim(*arguments):
        took = method(*arguments)
        if isinstance(took, list):
            return [seconds / SHRINK for seconds in took]
        return dataclasses.replace(took, time_s=took.time_s / SHRINK, host_s=took.host_s / SHRINK, host_mean_s=took.host_mean_s / SHRINK)

    return claim


for timer in (timing.CpuTimer, timing.CudaTimer):
    timer.time, timer.time_warm = shrunk(timer.time), shrunk(timer.time_warm)


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.weight
