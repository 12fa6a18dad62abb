"""It looks at the first row: where that has no large values, all are cut off at ordinary ones."""

import torch
from torch import nn

PROBLEM = "softmax"
CATALOGUE = (29, 32)
OUTCOMES = {"nonfinite", "wrong_values"}
CAUGHT_BY = "truth"


class ModelNew(nn.Module):
    def forward(self, x):
        if float(x[0].abs().max()) > 8:
            return torch.softmax(x, -1)
        e = x.clamp(-8, 8).exp()
        return e / e.sum(-1, keepdim=True)
