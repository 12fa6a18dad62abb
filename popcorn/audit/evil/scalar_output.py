"""A scalar that would be broadcast."""

import torch
from torch import nn

PROBLEM = "softmax"
CPU = True
CATALOGUE = (27,)
OUTCOMES = {"wrong_shape"}
CAUGHT_BY = "structure"


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.tensor(1.0 / x.shape[-1])
