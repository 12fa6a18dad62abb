"""Outputs of experts weighed and brought back to their tokens: K experts a token.

y (S, D) in expert order, token (S) int64 in [0, T), gate (S) → (T, D), out[t] = Σ over its rows of gate · y.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "mixture of experts"
DIFFERENTIABLE = True

T = Dim(8192, low=6922, high=9216, cpu=1024)
S = Dim(16384, low=13844, high=18432, cpu=2048)
D = Dim(2048, low=1736, high=2304, align=8, cpu=256)


class Model(nn.Module):
    def __init__(self, tokens: int):
        super().__init__()
        self.tokens = tokens

    def forward(self, y: torch.Tensor, token: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
        return y.new_zeros(self.tokens, y.shape[1]).index_add(0, token, y * gate[:, None])


def get_inputs(T=T, S=S, D=D):
    return [torch.randn(S, D), torch.randint(0, T, (S,)), torch.randn(S)]


def get_init_inputs(T=T):
    return [T]


def min_bytes(T=T, S=S, D=D, itemsize=4):
    return (S * D + S + T * D) * itemsize + 8 * S


def flops(S=S, D=D):
    return 2 * S * D
