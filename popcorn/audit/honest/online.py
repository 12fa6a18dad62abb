"""One pass over columns with a running maximum."""

import torch
from torch import nn

PROBLEM = "softmax"
CPU = True


class ModelNew(nn.Module):
    def forward(self, x):
        largest = torch.full((x.shape[0],), -torch.inf)
        total = torch.zeros(x.shape[0])
        for part in x.split(17, -1):
            new = torch.maximum(largest, part.amax(-1))
            total = total * torch.exp(largest - new) + torch.exp(part - new[:, None]).sum(-1)
            largest = new
        return torch.exp(x - largest[:, None]) / total[:, None]
