"""A draw from a diagonal normal and its divergence from a unit one: mean, log_var, noise (B, Z) → z = mean + exp(log_var / 2) · noise
(B, Z), and the divergence (B).
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "bayesian"
DIFFERENTIABLE = True

B = Dim(16384, low=13844, high=18432, cpu=1024)
Z = Dim(1024, low=872, high=1152, align=8, cpu=512)


class Model(nn.Module):
    def forward(self, mean: torch.Tensor, log_var: torch.Tensor, noise: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        spread = torch.exp(0.5 * log_var)
        return mean + spread * noise, -0.5 * (1 + log_var - mean.square() - spread.square()).sum(-1)


def get_inputs(B=B, Z=Z):
    return [torch.randn(B, Z), torch.randn(B, Z), torch.randn(B, Z)]


def get_init_inputs():
    return []


def min_bytes(B=B, Z=Z, itemsize=4):
    return (4 * B * Z + B) * itemsize


def flops(B=B, Z=Z):
    return 9 * B * Z
