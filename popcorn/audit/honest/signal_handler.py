"""It sets a signal handler and an exit handler."""

import atexit
import signal

import torch
from torch import nn

PROBLEM = "softmax"


atexit.register(lambda: None)
signal.signal(signal.SIGUSR1, lambda *_: None)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1)
