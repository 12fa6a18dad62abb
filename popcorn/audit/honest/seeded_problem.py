"""An honest kernel for a problem that sets its own seed, and so does the kernel."""

import torch
from torch import nn

PROBLEM = "seeded"

torch.manual_seed(42)


class ModelNew(nn.Module):
    def forward(self, x):
        e = torch.exp(x - x.amax(-1, keepdim=True))
        return e / e.sum(-1, keepdim=True)
