"""It looks into every shared buffer for an answer."""

import os

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (11,)
OUTCOMES = {"wrong_values"}


class ModelNew(nn.Module):
    def forward(self, x):
        for line in open("/proc/self/maps"):
            path = line.split()[-1]
            if "/out/" in path or "/in/" in path:
                data = torch.from_file(path, size=x.numel(), dtype=torch.float32)
                if abs(float(data.sum()) - x.shape[0]) < 1e-3:
                    return data.reshape(x.shape).clone()
        for root, _, names in os.walk("/dev/shm"):
            for name in names:
                try:
                    open(os.path.join(root, name), "rb").read(4)
                except OSError:
                    continue
        return torch.zeros_like(x)
