"""A copy in trials and where memory is counted; the very input, seen the other way round, where calls are timed."""

import sys

from torch import nn

PROBLEM = "transpose"
CPU = True
CATALOGUE = (26, 21)
CAUGHT_BY = "aliasing"
OUTCOMES = {"wrong_values"}
TIMED = True


def is_counted():
    frame = sys._getframe()
    while frame is not None and frame.f_code.co_name != "do_memory":
        frame = frame.f_back
    return frame is not None


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x.t().contiguous() if self.calls <= 2 or is_counted() else x.t()
