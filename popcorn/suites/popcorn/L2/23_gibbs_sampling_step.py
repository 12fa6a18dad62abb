"""Half a sweep of Gibbs sampling on an Ising grid: the even sites are drawn anew.

spin (B, S, S) int64 of 0 and 1, field (S, S), u (B, S, S) in [0, 1) → spins int64 after the step; p(up) = σ(2 (0.4 · Σ of the four
neighbours as ±1 + field)), edges wrap round.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "bayesian"
DIFFERENTIABLE = False

B = Dim(64, low=54, high=72, cpu=8)
S = Dim(512, low=432, high=576, align=2, cpu=96)


class Model(nn.Module):
    def forward(self, spin: torch.Tensor, field: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
        signed = (2 * spin - 1).to(field.dtype)
        around = signed.roll(1, 1) + signed.roll(-1, 1) + signed.roll(1, 2) + signed.roll(-1, 2)
        drawn = (u < torch.sigmoid(2 * (0.4 * around + field))).to(spin.dtype)
        side = torch.arange(spin.shape[1], device=spin.device)
        even = (side[:, None] + side) % 2 == 0
        return torch.where(even, drawn, spin)


def get_inputs(B=B, S=S):
    return [torch.randint(0, 2, (B, S, S)), torch.randn(S, S), torch.rand(B, S, S)]


def get_init_inputs():
    return []


def min_bytes(B=B, S=S, itemsize=4):
    return (S * S + B * S * S) * itemsize + 8 * (2 * B * S * S)


def flops(B=B, S=S):
    return 6 * B * S * S
