"""It remembers results by a hash of the whole input: right, and worth nothing."""

import hashlib

import torch
from torch import nn

PROBLEM = "softmax"
CPU = True
CATALOGUE = (18,)
OUTCOMES = {"wrong_values"}
NO_GAIN = True


seen = {}


class ModelNew(nn.Module):
    def forward(self, x):
        key = hashlib.blake2b(x.contiguous().numpy().tobytes()).digest()
        if key not in seen:
            seen[key] = torch.softmax(x, -1)
        return seen[key].clone()
