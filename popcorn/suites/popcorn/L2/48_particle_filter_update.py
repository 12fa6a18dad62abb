"""A step of a particle filter: move, weigh by the observation, estimate.

x, noise (B, N, D), log_w (B, N), seen (B, D) → (estimate (B, D), log weights (B, N)); x' = tanh(A x) + noise / 2, log w' =
log_softmax(log w − |seen − x'|² / 2).
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "bayesian"
DIFFERENTIABLE = True

B = Dim(64, low=54, high=72, cpu=8)
N = Dim(8192, low=6922, high=9216, cpu=512)
D = Dim(64, low=56, high=80, align=8, cpu=32)


class Model(nn.Module):
    def __init__(self, state: int):
        super().__init__()
        self.move = nn.Linear(state, state, bias=False)

    def forward(self, x: torch.Tensor, noise: torch.Tensor, log_w: torch.Tensor, seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = torch.tanh(self.move(x)) + 0.5 * noise
        log_w = torch.log_softmax(log_w - 0.5 * (seen[:, None] - x).square().sum(-1), -1)
        return (log_w.exp()[..., None] * x).sum(1), log_w


def get_inputs(B=B, N=N, D=D):
    return [torch.randn(B, N, D), torch.randn(B, N, D), torch.randn(B, N), torch.randn(B, D)]


def get_init_inputs(D=D):
    return [D]


def min_bytes(B=B, N=N, D=D, itemsize=4):
    return (2 * B * N * D + 2 * B * N + 2 * B * D + D * D) * itemsize


def flops(B=B, N=N, D=D):
    return 2 * B * N * D * D
