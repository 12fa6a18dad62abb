"""Pythia 1.4B in its shape, four layers, a quarter of each head turned by position: input_ids (B, T) → logits (B, T, V); random weights."""

import torch
from torch import nn
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

from popcorn.suites.jitter import Dim

DOMAIN = "language"
DIFFERENTIABLE = True

B = Dim(4, low=2, high=5, cpu=1)
T = Dim(1024, low=865, high=1152, cpu=48)
V = Dim(50304, fixed=True, cpu=512)
D = Dim(2048, fixed=True, cpu=128)
L = Dim(4, fixed=True, cpu=2)
H = Dim(16, fixed=True, cpu=4)


class Model(nn.Module):
    def __init__(self, vocabulary: int, width: int, depth: int, heads: int):
        super().__init__()
        config = GPTNeoXConfig(
            vocab_size=vocabulary, hidden_size=width, num_hidden_layers=depth, num_attention_heads=heads, intermediate_size=4 * width
        )
        self.model = GPTNeoXForCausalLM(config).eval()

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=input_ids, use_cache=False).logits


def get_inputs(B=B, T=T, V=V):
    return [torch.randint(0, V, (B, T))]


def get_init_inputs(V=V, D=D, L=L, H=H):
    return [V, D, L, H]


def min_bytes(B=B, T=T, V=V, D=D, L=L, itemsize=4):
    weights = min(V, B * T) * D + V * D + L * 12 * D * D
    return (B * T * V + weights) * itemsize + 8 * B * T


def flops(B=B, T=T, V=V, D=D, L=L):
    return 2 * B * T * (L * 12 * D * D + V * D) + 4 * B * D * T * (T + 1) // 2 * L
