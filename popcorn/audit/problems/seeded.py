"""Softmax of one fixed size, as other people write problems: get_inputs sets a seed of its own, so that in their benchmarks every trial is the same."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, dim=-1)


def get_inputs():
    torch.manual_seed(42)
    return [torch.randn(64, 128)]


def get_init_inputs():
    return []
