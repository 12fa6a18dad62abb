"""Its process describes outputs that no buffer holds."""

import torch
from popcorn.worker import side
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (13,)
OUTCOMES = {"runtime_error", "wrong_dtype", "wrong_shape", "wrong_values"}


def run(self, message):
    return {"trees": [{"f": "0x1p99999"}, {"t": {"dtype": "float32", "shape": [1 << 40, 1 << 40], "stride": [0, 0], "at": 0}}]}


side.Side.do_run = run


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
