"""It raises what ends a program and is no Exception, and its text raises the next."""

from torch import nn

PROBLEM = "softmax"
CATALOGUE = (58,)
OUTCOMES = {"runtime_error"}


class Leaves(KeyboardInterrupt):
    def __str__(self):
        raise SystemExit(0)


class ModelNew(nn.Module):
    def forward(self, x):
        raise Leaves
