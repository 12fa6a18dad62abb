"""A step on a scene graph: nodes take gated messages from all others, weighed by relation scores.

x (B, N, D), relation (B, N, N) → x + σ(W_g x) · tanh(softmax(relation) · (W_m x)).
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "robotics"
DIFFERENTIABLE = True

B = Dim(64, low=54, high=72, cpu=8)
N = Dim(256, low=216, high=288, cpu=64)
D = Dim(512, low=432, high=576, align=8, cpu=128)


class Model(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.message = nn.Linear(width, width)
        self.gate = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, relation: torch.Tensor) -> torch.Tensor:
        message = torch.bmm(torch.softmax(relation, -1), self.message(x))
        return x + torch.sigmoid(self.gate(x)) * torch.tanh(message)


def get_inputs(B=B, N=N, D=D):
    return [torch.randn(B, N, D), torch.randn(B, N, N)]


def get_init_inputs(D=D):
    return [D]


def min_bytes(B=B, N=N, D=D, itemsize=4):
    return (2 * B * N * D + B * N * N + 2 * (D + 1) * D) * itemsize


def flops(B=B, N=N, D=D):
    return 4 * B * N * D * D + 2 * B * N * N * D
