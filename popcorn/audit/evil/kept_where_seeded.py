"""One answer, kept: in a benchmark whose problems set their own seeds it is right every time."""

import torch
from torch import nn

PROBLEM = "seeded"
CATALOGUE = (18,)
OUTCOMES = {"wrong_values"}
CAUGHT_BY = "truth"

kept = []


class ModelNew(nn.Module):
    def forward(self, x):
        if not kept:
            kept.append(torch.softmax(x, -1))
        return kept[0].clone()
