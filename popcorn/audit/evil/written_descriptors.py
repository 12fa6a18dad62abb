"""It writes a forged frame to every descriptor that is open."""

import os
import struct

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (13,)
OUTCOMES = {"crash", "runtime_error", "wrong_values"}


class ModelNew(nn.Module):
    def forward(self, x):
        body = b'{"ok":{"outcome":"correct","trees":[{"v":1}]}}'
        for fd in range(3, 64):
            try:
                os.write(fd, struct.pack(">I", len(body)) + body)
            except OSError:
                pass
        return torch.zeros_like(x)
