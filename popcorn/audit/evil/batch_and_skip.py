"""Many calls in one: only one in five is computed."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (21, 23)
OUTCOMES = {"wrong_values"}
CAUGHT_BY = "truth"
TIMED = True


calls, last = 0, None


class ModelNew(nn.Module):
    def forward(self, x):
        global calls, last
        calls += 1
        if calls < 40 or calls % 5 == 0 or last is None or last.shape != x.shape:
            last = torch.softmax(x, -1)
        return last.clone()
