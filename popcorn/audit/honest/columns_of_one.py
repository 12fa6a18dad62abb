"""Two results are columns of one buffer of this call, with a stride of two."""

import torch
from torch import nn

PROBLEM = "moments"
CPU = True
TIMED = True


class ModelNew(nn.Module):
    def forward(self, x):
        both = torch.empty(x.shape[0], 2)
        variance, mean = torch.var_mean(x, -1, correction=0)
        torch.add(mean, 1, out=both[:, 0])
        torch.add(variance, 1, out=both[:, 1])
        return both[:, 0], both[:, 1], x.argmax(-1)
