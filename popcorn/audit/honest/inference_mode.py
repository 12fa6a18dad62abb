"""Under inference mode."""

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        with torch.inference_mode():
            return torch.softmax(x, -1)
