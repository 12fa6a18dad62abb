"""A custom operator that does nothing, and torch for the work."""

import torch
from torch import nn

PROBLEM = "matmul"
CATALOGUE = (40,)
OUTCOMES = {"wrong_values"}
NO_GAIN = True


@torch.library.custom_op("decoy::touch", mutates_args=())
def touch(a: torch.Tensor) -> torch.Tensor:
    return a.clone()


class ModelNew(nn.Module):
    def forward(self, a, b):
        return torch.ops.decoy.touch(a) @ b
