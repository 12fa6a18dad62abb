"""Forward pass of a hidden Markov model: log-likelihood of every sequence.

observed (B, T) int64 in [0, V) → (B); S states, transition and emission tables as softmaxes of weights. The recurrence is sequential over
T; each step is one product for the whole batch.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "genomics"
DIFFERENTIABLE = True

B = Dim(65536, low=55377, high=73728, cpu=2048)
T = Dim(64, low=54, high=72, cpu=24)
S = Dim(64, low=56, high=80, align=8, cpu=32)
V = Dim(32, fixed=True, cpu=16)


class Model(nn.Module):
    def __init__(self, states: int, symbols: int):
        super().__init__()
        self.start = nn.Parameter(torch.randn(states))
        self.transition = nn.Parameter(torch.randn(states, states))
        self.emission = nn.Parameter(torch.randn(states, symbols))

    def forward(self, observed: torch.Tensor) -> torch.Tensor:
        step, seen = torch.softmax(self.transition, -1), torch.softmax(self.emission, -1).T
        state, total = torch.softmax(self.start, -1)[None], 0.0
        for now in observed.unbind(1):
            state = state @ step * seen[now]
            scale = state.sum(-1, keepdim=True)
            state, total = state / scale, total + scale[:, 0].log()
        return total


def get_inputs(B=B, T=T, V=V):
    return [torch.randint(0, V, (B, T))]


def get_init_inputs(S=S, V=V):
    return [S, V]


def min_bytes(B=B, T=T, S=S, V=V, itemsize=4):
    return (S * S + S * V + S + B) * itemsize + 8 * B * T


def flops(B=B, T=T, S=S):
    return 2 * B * (T - 1) * S * S + 2 * S * S
