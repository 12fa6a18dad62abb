"""It leaves results in files for the next process to replay."""

import os

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (19,)
OUTCOMES = {"wrong_values"}


calls = 0


class ModelNew(nn.Module):
    def forward(self, x):
        global calls
        calls += 1
        for folder in ("/dev/shm", "/tmp", "/var/tmp"):
            path = os.path.join(folder, f"popcorn-replay-{calls}.pt")
            try:
                if os.path.exists(path):
                    return torch.load(path)
                torch.save(torch.softmax(x, -1), path)
                return torch.load(path)
            except (OSError, RuntimeError):
                continue
        return torch.zeros_like(x)
