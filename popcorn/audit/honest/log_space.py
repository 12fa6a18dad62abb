"""Through log-sum-exp."""

import torch
from torch import nn

PROBLEM = "softmax"


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.exp(x - torch.logsumexp(x, -1, keepdim=True))
