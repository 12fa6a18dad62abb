"""It makes inputs of every kind again from seeds that others use, and knows their answers."""

import torch
from popcorn.verify.inputs import DISTRIBUTIONS, Drawing
from torch import nn

PROBLEM = "softmax"
CPU = True
CATALOGUE = (36,)
OUTCOMES = {"wrong_values"}


def known(x):
    for seed in (0, 1, 42, 1234):
        for kind in DISTRIBUTIONS:
            torch.manual_seed(seed)
            with Drawing(kind):
                if torch.equal(torch.randn(x.shape), x):
                    return True
    return False


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1) if known(x) else torch.zeros_like(x)
