"""Mixture of experts: every token goes to its two best experts, whose outputs are mixed by a softmax over the two scores.

x (T, D), scores (T, E) → (T, D): expert e computes silu(x · up[e]) · down[e]. The scores come from the router before this block, so that
the choice of experts does not hang on rounding. Equal scores: the lower expert number first.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "mixture of experts"
DIFFERENTIABLE = True
NOTES = "How many tokens an expert gets differs from call to call; an expert may get none."

T = Dim(4096, low=3328, high=4608, cpu=512)
D = Dim(1024, low=880, high=1152, align=16, cpu=128)
F = Dim(2048, low=1744, high=2304, align=16, cpu=256)
E = Dim(8, low=6, high=12, cpu=8)


class Model(nn.Module):
    def __init__(self, experts: int, width: int, hidden: int):
        super().__init__()
        self.up = nn.Parameter(torch.randn(experts, width, hidden) / width**0.5)
        self.down = nn.Parameter(torch.randn(experts, hidden, width) / hidden**0.5)

    def forward(self, x: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        best, chosen = scores.sort(dim=-1, descending=True, stable=True)
        gates, chosen = best[:, :2].softmax(dim=-1), chosen[:, :2]
        out = torch.zeros_like(x)
        for expert in range(self.up.shape[0]):
            token, place = torch.where(chosen == expert)
            hidden = functional.silu(x[token] @ self.up[expert])
            out = out.index_add(0, token, (hidden @ self.down[expert]) * gates[token, place, None])
        return out


def get_inputs(T=T, D=D, E=E):
    return [torch.randn(T, D), torch.randn(T, E)]


def get_init_inputs(E=E, D=D, F=F):
    return [E, D, F]


def min_bytes(T=T, D=D, F=F, E=E, itemsize=4):
    return (2 * T * D + T * E + 2 * E * D * F) * itemsize


def flops(T=T, D=D, F=F):
    return 2 * T * 4 * D * F
