"""Self-normalised importance sampling: log p, log q (B, S), f (B, S, D) → Σ_s w[s] f[s] with w = softmax(log p − log q), (B, D)."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "probabilistic"
DIFFERENTIABLE = True

B = Dim(512, low=432, high=576, cpu=64)
S = Dim(1024, low=865, high=1152, cpu=256)
D = Dim(64, low=56, high=80, align=8, cpu=32)


class Model(nn.Module):
    def forward(self, log_p: torch.Tensor, log_q: torch.Tensor, f: torch.Tensor) -> torch.Tensor:
        weight = torch.softmax(log_p - log_q, dim=-1)
        return torch.bmm(weight[:, None], f)[:, 0]


def get_inputs(B=B, S=S, D=D):
    return [torch.randn(B, S), torch.randn(B, S), torch.randn(B, S, D)]


def get_init_inputs():
    return []


def min_bytes(B=B, S=S, D=D, itemsize=4):
    return (2 * B * S + B * S * D + B * D) * itemsize


def flops(B=B, S=S, D=D):
    return 2 * B * S * D
