"""A custom operator of torch.library."""

import torch
from torch import nn

PROBLEM = "softmax"


@torch.library.custom_op("honest::softmax", mutates_args=())
def softmax(x: torch.Tensor) -> torch.Tensor:
    e = torch.exp(x - x.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.ops.honest.softmax(x)
