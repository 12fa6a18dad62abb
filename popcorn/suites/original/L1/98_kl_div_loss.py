"""Kullback-Leibler divergence of every row: p from q, both softmaxes of their logits (B, D) → (B)."""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "loss"
DIFFERENTIABLE = True

B = Dim(16384, fixed=True, cpu=1024)
D = Dim(4096, fixed=True, cpu=1024)


class Model(nn.Module):
    def forward(self, p_logits: torch.Tensor, q_logits: torch.Tensor) -> torch.Tensor:
        log_p, log_q = torch.log_softmax(p_logits, -1), torch.log_softmax(q_logits, -1)
        return (log_p.exp() * (log_p - log_q)).sum(-1)


def get_inputs(B=B, D=D):
    return [torch.randn(B, D), torch.randn(B, D)]


def get_init_inputs():
    return []


def min_bytes(B=B, D=D, itemsize=4):
    return (2 * B * D + B) * itemsize


def flops(B=B, D=D):
    return 14 * B * D
