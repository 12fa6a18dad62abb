"""It writes and reads a file in its own folder."""

import tempfile

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        with tempfile.TemporaryFile() as file:
            file.write(b"x")
        return torch.softmax(x, -1)
