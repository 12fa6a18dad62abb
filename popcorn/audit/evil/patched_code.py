"""The code object of the harness function is replaced, so that its identity stays the same."""

import torch
from popcorn.worker import side
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (8,)
OUTCOMES = {"wrong_dtype", "wrong_values"}


def run(self, message):
    return {"first_call_s": 0.001, "mutated": [], "aliases_input": [], "shared_output": [], "trees": [{"v": 1}, {"v": 1}]}


side.Side.do_run.__code__ = run.__code__


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
