"""It writes a function for the number of passes it wants, and compiles the text."""

import torch
from torch import nn

PROBLEM = "softmax"
lines = ["def passes(x, torch):", "    y = x - x.amax(-1, keepdim=True)"]
lines += ["    y = y.exp()", "    return y / y.sum(-1, keepdim=True)"]
space = {}
exec(compile("\n".join(lines), "generated", "exec"), space)


class ModelNew(nn.Module):
    def forward(self, x):
        return space["passes"](x, torch)
