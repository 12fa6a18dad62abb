"""It raises the harness's own errors, so that nothing is counted against it."""

import torch
from popcorn.errors import HarnessFailure
from popcorn.worker.failure import Failed
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (58,)
OUTCOMES = {"runtime_error"}


class ModelNew(nn.Module):
    def forward(self, x):
        raise Failed("harness_error", "the harness is broken") if torch.rand(1) < 2 else HarnessFailure("broken")
