"""Gemma 2 2B in its shape, two layers, soft-capped scores and logits: input_ids (B, T) → logits (B, T, V).

L blocks of width D, H heads, G for keys and values, MLP of width F; random weights.
"""

import torch
from torch import nn
from transformers import Gemma2Config, Gemma2ForCausalLM

from popcorn.suites.jitter import Dim

DOMAIN = "language"
DIFFERENTIABLE = True

B = Dim(4, low=2, high=5, cpu=1)
T = Dim(1024, low=865, high=1152, cpu=48)
V = Dim(32000, fixed=True, cpu=512)
D = Dim(2304, fixed=True, cpu=128)
L = Dim(2, fixed=True, cpu=2)
H = Dim(8, fixed=True, cpu=4)
G = Dim(4, fixed=True, cpu=2)
F = Dim(9216, fixed=True, cpu=256)


class Model(nn.Module):
    def __init__(self, vocabulary: int, width: int, depth: int, heads: int, groups: int, inner: int):
        super().__init__()
        config = Gemma2Config(
            vocab_size=vocabulary,
            hidden_size=width,
            num_hidden_layers=depth,
            num_attention_heads=heads,
            num_key_value_heads=groups,
            intermediate_size=inner,
            head_dim=width // heads,
        )
        self.model = Gemma2ForCausalLM(config).eval()

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=input_ids, use_cache=False).logits


def get_inputs(B=B, T=T, V=V):
    return [torch.randint(0, V, (B, T))]


def get_init_inputs(V=V, D=D, L=L, H=H, G=G, F=F):
    return [V, D, L, H, G, F]


def min_bytes(B=B, T=T, V=V, D=D, L=L, H=H, G=G, F=F, itemsize=4):
    weights = V * D + L * (2 * D * D + 2 * D * (G * D // H) + 3 * D * F)
    return (B * T * V + weights) * itemsize + 8 * B * T


def flops(B=B, T=T, V=V, D=D, L=L, H=H, G=G, F=F):
    return 2 * B * T * (L * (2 * D * D + 2 * D * (G * D // H) + 3 * D * F) + V * D) + 4 * B * D * T * (T + 1) // 2 * L
