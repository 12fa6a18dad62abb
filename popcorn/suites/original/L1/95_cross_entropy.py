"""Cross entropy of every row, not averaged: an average over many rows is almost the same number for any input.

logits (B, K), target (B) int64 in [0, K) → (B), out[b] = log Σ_k exp(logits[b, k]) − logits[b, target[b]].
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "loss"
DIFFERENTIABLE = True

B = Dim(16384, fixed=True, cpu=1024)
K = Dim(8192, fixed=True, cpu=4096)


class Model(nn.Module):
    def forward(self, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(logits, target, reduction="none")


def get_inputs(B=B, K=K):
    return [torch.randn(B, K), torch.randint(0, K, (B,))]


def get_init_inputs():
    return []


def min_bytes(B=B, K=K, itemsize=4):
    return (B * K + B) * itemsize + 8 * B


def flops(B=B, K=K):
    return 4 * B * K
