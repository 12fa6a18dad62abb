"""Its process answers with things of the wrong kind everywhere."""

import torch
from popcorn.worker import side
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (13,)
OUTCOMES = {"mutated_inputs", "runtime_error", "wrong_dtype", "wrong_values"}


def run(self, message):
    odd = {"mutated": {"a": {}}, "aliases_input": {"x": 1}, "shared_output": "all", "flags": ["no"], "first_call_s": -1.0}
    return {**odd, "trees": [{"f": "0x1p99999"}, {"t": {"dtype": [], "shape": {}, "stride": 0, "at": -1}}]}


side.Side.do_run = run


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
