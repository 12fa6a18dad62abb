"""An integer of ten thousand digits, which no message can hold."""

from torch import nn

PROBLEM = "softmax"
OUTCOMES = {"wrong_dtype"}


class ModelNew(nn.Module):
    def forward(self, x):
        return 10**10000
