"""Mistral 7B in its shape, two layers, a sliding window: input_ids (B, T) → logits (B, T, V).

L blocks of width D, H heads, G for keys and values, MLP of width F; random weights.
"""

import torch
from torch import nn
from transformers import MistralConfig, MistralForCausalLM

from popcorn.suites.jitter import Dim

DOMAIN = "language"
DIFFERENTIABLE = True

B = Dim(4, low=2, high=5, cpu=1)
T = Dim(1024, low=865, high=1152, cpu=48)
V = Dim(32000, fixed=True, cpu=512)
D = Dim(4096, fixed=True, cpu=128)
L = Dim(2, fixed=True, cpu=2)
H = Dim(32, fixed=True, cpu=4)
G = Dim(8, fixed=True, cpu=2)
F = Dim(14336, fixed=True, cpu=256)


class Model(nn.Module):
    def __init__(self, vocabulary: int, width: int, depth: int, heads: int, groups: int, inner: int):
        super().__init__()
        config = MistralConfig(
            vocab_size=vocabulary,
            hidden_size=width,
            num_hidden_layers=depth,
            num_attention_heads=heads,
            num_key_value_heads=groups,
            intermediate_size=inner,
            sliding_window=4096,
        )
        self.model = MistralForCausalLM(config).eval()

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=input_ids, use_cache=False).logits


def get_inputs(B=B, T=T, V=V):
    return [torch.randint(0, V, (B, T))]


def get_init_inputs(V=V, D=D, L=L, H=H, G=G, F=F):
    return [V, D, L, H, G, F]


def min_bytes(B=B, T=T, V=V, D=D, L=L, H=H, G=G, F=F, itemsize=4):
    weights = min(V, B * T) * D + V * D + L * (2 * D * D + 2 * D * (G * D // H) + 3 * D * F)
    return (B * T * V + weights) * itemsize + 8 * B * T


def flops(B=B, T=T, V=V, D=D, L=L, H=H, G=G, F=F):
    return 2 * B * T * (L * (2 * D * D + 2 * D * (G * D // H) + 3 * D * F) + V * D) + 4 * B * D * T * (T + 1) // 2 * L
