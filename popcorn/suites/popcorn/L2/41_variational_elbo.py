"""Evidence lower bound of every sample: Bernoulli reconstruction minus the divergence of q from a unit normal.

target (B, D) in [0, 1), logits (B, D), mean, log_var (B, Z) → (B).
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "bayesian"
DIFFERENTIABLE = True

B = Dim(8192, low=6922, high=9216, cpu=1024)
D = Dim(4096, low=3461, high=4608, cpu=784)
Z = Dim(128, low=112, high=152, align=8, cpu=32)


class Model(nn.Module):
    def forward(self, target: torch.Tensor, logits: torch.Tensor, mean: torch.Tensor, log_var: torch.Tensor) -> torch.Tensor:
        fit = -functional.binary_cross_entropy_with_logits(logits, target, reduction="none").sum(-1)
        return fit + 0.5 * (1 + log_var - mean.square() - log_var.exp()).sum(-1)


def get_inputs(B=B, D=D, Z=Z):
    return [torch.rand(B, D), torch.randn(B, D), torch.randn(B, Z), torch.randn(B, Z)]


def get_init_inputs():
    return []


def min_bytes(B=B, D=D, Z=Z, itemsize=4):
    return (2 * B * D + 2 * B * Z + B) * itemsize


def flops(B=B, D=D, Z=Z):
    return 6 * B * D + 5 * B * Z
