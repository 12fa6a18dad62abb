"""Mixtral in its shape at a quarter of its width, two layers: input_ids (B, T) → logits (B, T, V).

Two of eight experts a token, each a gated MLP of width F; G heads for keys and values; random weights.
"""

import torch
from torch import nn
from transformers import MixtralConfig, MixtralForCausalLM

from popcorn.suites.jitter import Dim

DOMAIN = "language"
DIFFERENTIABLE = True
FLOPS_WHY = "Only the experts that the router chose are needed for a token; the counter may see others, or fused products not at all."

B = Dim(4, low=2, high=5, cpu=1)
T = Dim(512, low=432, high=576, cpu=48)
V = Dim(32000, fixed=True, cpu=512)
D = Dim(1024, fixed=True, cpu=128)
L = Dim(2, fixed=True, cpu=2)
H = Dim(16, fixed=True, cpu=4)
G = Dim(4, fixed=True, cpu=2)
F = Dim(3584, fixed=True, cpu=128)


class Model(nn.Module):
    def __init__(self, vocabulary: int, width: int, depth: int, heads: int, groups: int, inner: int):
        super().__init__()
        config = MixtralConfig(
            vocab_size=vocabulary,
            hidden_size=width,
            num_hidden_layers=depth,
            num_attention_heads=heads,
            num_key_value_heads=groups,
            intermediate_size=inner,
            num_local_experts=8,
            num_experts_per_tok=2,
            experts_implementation="eager",
        )
        self.model = MixtralForCausalLM(config).eval()

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=input_ids, use_cache=False).logits


def get_inputs(B=B, T=T, V=V):
    return [torch.randint(0, V, (B, T))]


def get_init_inputs(V=V, D=D, L=L, H=H, G=G, F=F):
    return [V, D, L, H, G, F]


def min_bytes(B=B, T=T, V=V, D=D, L=L, H=H, G=G, F=F, itemsize=4):
    weights = min(V, B * T) * D + V * D + L * (2 * D * D + 2 * D * (G * D // H) + 24 * D * F)
    return (B * T * V + weights) * itemsize + 8 * B * T


def flops(B=B, T=T, V=V, D=D, L=L, H=H, G=G, F=F):
    return 2 * B * T * (L * (2 * D * D + 2 * D * (G * D // H) + 6 * D * F) + V * D) + 4 * B * D * T * (T + 1) // 2 * L
