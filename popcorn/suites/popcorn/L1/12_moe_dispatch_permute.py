"""Tokens brought into the order of their experts, the order within an expert kept.

x (T, D), expert (T) int64 in [0, E) → (x in expert order (T, D), tokens of each expert (E) int64).
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "mixture of experts"
DIFFERENTIABLE = True

T = Dim(16384, low=13844, high=18432, cpu=2048)
D = Dim(2048, low=1736, high=2304, align=8, cpu=256)
E = Dim(64, fixed=True, cpu=16)


class Model(nn.Module):
    def __init__(self, experts: int):
        super().__init__()
        self.experts = experts

    def forward(self, x: torch.Tensor, expert: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        order = expert.argsort(stable=True)
        count = torch.zeros(self.experts, dtype=torch.int64, device=x.device).index_add(0, expert, torch.ones_like(expert))
        return x[order], count


def get_inputs(T=T, D=D, E=E):
    return [torch.randn(T, D), torch.randint(0, E, (T,))]


def get_init_inputs(E=E):
    return [E]


def min_bytes(T=T, D=D, E=E, itemsize=4):
    return 2 * T * D * itemsize + 8 * (T + E)


def flops(T=T):
    return T
