"""Mamba 130M in its shape, four layers, its scan written out: input_ids (B, T) → logits (B, T, V).

Inner width 2·D, 16 states, steps of rank D/16; the library's plain path runs the scan step by step on short sequences; random weights.
"""

import torch
from torch import nn
from transformers import MambaConfig, MambaForCausalLM

from popcorn.suites.jitter import Dim

DOMAIN = "state space"
DIFFERENTIABLE = True
FLOPS_WHY = "Projections alone; the counter sees some products of the scan, too."

B = Dim(4, low=2, high=5, cpu=1)
T = Dim(96, low=81, high=108, cpu=24)
V = Dim(50280, fixed=True, cpu=512)
D = Dim(768, fixed=True, cpu=128)
L = Dim(4, fixed=True, cpu=2)


class Model(nn.Module):
    def __init__(self, vocabulary: int, width: int, depth: int):
        super().__init__()
        config = MambaConfig(vocab_size=vocabulary, hidden_size=width, num_hidden_layers=depth, state_size=16, time_step_rank=width // 16)
        self.model = MambaForCausalLM(config).eval()

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=input_ids, use_cache=False).logits


def get_inputs(B=B, T=T, V=V):
    return [torch.randint(0, V, (B, T))]


def get_init_inputs(V=V, D=D, L=L):
    return [V, D, L]


def min_bytes(B=B, T=T, V=V, D=D, L=L, itemsize=4):
    weights = V * D + L * (6 * D * D + 2 * D * (D // 16 + 32) + 2 * D * (D // 16))
    return (B * T * V + weights) * itemsize + 8 * B * T


def flops(B=B, T=T, V=V, D=D, L=L):
    return 2 * B * T * (L * (6 * D * D + 2 * D * (D // 16 + 32) + 2 * D * (D // 16)) + V * D)
