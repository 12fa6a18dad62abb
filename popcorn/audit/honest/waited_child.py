"""A child process at import, waited for."""

import subprocess
import sys

import torch
from torch import nn

PROBLEM = "softmax"


answer = subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True, check=False)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1)
