"""Loss of a conditional variational autoencoder, for every sample: encode, draw, decode, compare.

x (B, D) in [0, 1), condition (B, C), noise (B, Z) → (B): binary cross entropy summed over D plus the divergence of q(z | x, c) from a
unit normal; one hidden layer of F each way.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "bayesian"
DIFFERENTIABLE = True

B = Dim(8192, low=6922, high=9216, cpu=512)
D = Dim(784, low=662, high=882, cpu=196)
C = Dim(64, low=56, high=80, align=8, cpu=16)
F = Dim(1024, low=872, high=1152, align=8, cpu=128)
Z = Dim(64, low=56, high=80, align=8, cpu=16)


class Model(nn.Module):
    def __init__(self, pixels: int, labels: int, hidden: int, latent: int):
        super().__init__()
        self.encode, self.moments = nn.Linear(pixels + labels, hidden), nn.Linear(hidden, 2 * latent)
        self.decode, self.leave = nn.Linear(latent + labels, hidden), nn.Linear(hidden, pixels)

    def forward(self, x: torch.Tensor, condition: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        mean, log_var = self.moments(functional.gelu(self.encode(torch.cat((x, condition), 1)))).chunk(2, -1)
        z = mean + torch.exp(0.5 * log_var) * noise
        logits = self.leave(functional.gelu(self.decode(torch.cat((z, condition), 1))))
        fit = functional.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(-1)
        return fit - 0.5 * (1 + log_var - mean.square() - log_var.exp()).sum(-1)


def get_inputs(B=B, D=D, C=C, Z=Z):
    return [torch.rand(B, D), torch.randn(B, C), torch.randn(B, Z)]


def get_init_inputs(D=D, C=C, F=F, Z=Z):
    return [D, C, F, Z]


def min_bytes(B=B, D=D, C=C, F=F, Z=Z, itemsize=4):
    return (B * D + B * C + B * Z + F * (2 * D + 2 * C + 3 * Z) + 2 * F + 2 * Z + D + B) * itemsize


def flops(B=B, D=D, C=C, F=F, Z=Z):
    return 2 * B * F * (2 * D + 2 * C + 3 * Z)
