"""Messages between all pairs of nodes: out_i = W Σ_j relu(A x_i + C x_j + b) / N, x (B, N, D) → (B, N, D)."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "robotics"
DIFFERENTIABLE = True

B = Dim(64, low=54, high=72, cpu=2)
N = Dim(256, low=216, high=288, cpu=48)
D = Dim(256, low=216, high=288, align=8, cpu=64)


class Model(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.receive = nn.Linear(width, width)
        self.send = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pairs = torch.relu(self.receive(x)[:, :, None] + self.send(x)[:, None])
        return self.out(pairs.mean(2))


def get_inputs(B=B, N=N, D=D):
    return [torch.randn(B, N, D)]


def get_init_inputs(D=D):
    return [D]


def min_bytes(B=B, N=N, D=D, itemsize=4):
    return (2 * B * N * D + 3 * D * D + 2 * D) * itemsize


def flops(B=B, N=N, D=D):
    return 6 * B * N * D * D
