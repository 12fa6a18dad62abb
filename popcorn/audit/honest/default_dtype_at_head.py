"""A file of half precision says so at its head, as its problem does."""

import torch
from torch import nn

PROBLEM = "softmax"

torch.set_default_dtype(torch.float16)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1)
