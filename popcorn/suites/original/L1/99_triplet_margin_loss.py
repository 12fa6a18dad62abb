"""Triplet loss of every row: anchor, near, far (B, D) → max(|a − n| − |a − f| + 1, 0), (B), Euclidean distances."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "loss"
DIFFERENTIABLE = True

B = Dim(16384, fixed=True, cpu=1024)
D = Dim(4096, fixed=True, cpu=1024)


class Model(nn.Module):
    def forward(self, anchor: torch.Tensor, near: torch.Tensor, far: torch.Tensor) -> torch.Tensor:
        distance = torch.linalg.vector_norm(anchor - near + 1e-6, dim=-1) - torch.linalg.vector_norm(anchor - far + 1e-6, dim=-1)
        return torch.relu(distance + 1.0)


def get_inputs(B=B, D=D):
    return [torch.randn(B, D), torch.randn(B, D), torch.randn(B, D)]


def get_init_inputs():
    return []


def min_bytes(B=B, D=D, itemsize=4):
    return (3 * B * D + B) * itemsize


def flops(B=B, D=D):
    return 6 * B * D
