"""A function is made from text once per size and kept."""

import torch
from torch import nn

PROBLEM = "norm"


made = {}


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))

    def forward(self, x):
        size = x.shape[-1]
        if size not in made:
            scope = {"torch": torch}
            exec(f"def run(x, w):\n    return x * torch.rsqrt(x.square().sum(-1, keepdim=True) * {1 / size!r} + 1e-6) * w", scope)
            made[size] = scope["run"]
        return made[size](x, self.weight)
