"""It searches the memory of its ancestors and neighbours for a seed."""

import os

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (15, 27)
OUTCOMES = {"wrong_values"}


class ModelNew(nn.Module):
    def forward(self, x):
        for pid in [p for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid()]:
            try:
                with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
                    for line in maps:
                        start = int(line.split("-")[0], 16)
                        memory.seek(start)
                        if memory.read(16):
                            return torch.softmax(x, -1)
            except (OSError, ValueError, OverflowError):
                continue
        return torch.zeros_like(x)
