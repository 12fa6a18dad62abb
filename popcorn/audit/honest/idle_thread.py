"""A watcher thread that sleeps."""

import threading

import torch
from torch import nn

PROBLEM = "softmax"
TIMED = True


threading.Thread(target=threading.Event().wait, daemon=True).start()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1)
