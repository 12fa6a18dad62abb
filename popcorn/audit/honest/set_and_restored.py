"""It changes a setting and puts it back."""

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            return torch.softmax(x, -1)
        finally:
            torch.set_num_threads(before)
