"""Falcon in its shape at a third of its width, four layers: input_ids (B, T) → logits (B, T, V).

Attention and MLP side by side, one head for keys and values; random weights.
"""

import torch
from torch import nn
from transformers import FalconConfig, FalconForCausalLM

from popcorn.suites.jitter import Dim

DOMAIN = "language"
DIFFERENTIABLE = True

B = Dim(4, low=2, high=5, cpu=1)
T = Dim(1024, low=865, high=1152, cpu=48)
V = Dim(65024, fixed=True, cpu=512)
D = Dim(1536, fixed=True, cpu=128)
L = Dim(4, fixed=True, cpu=2)
H = Dim(24, fixed=True, cpu=4)


class Model(nn.Module):
    def __init__(self, vocabulary: int, width: int, depth: int, heads: int):
        super().__init__()
        config = FalconConfig(
            vocab_size=vocabulary,
            hidden_size=width,
            num_hidden_layers=depth,
            num_attention_heads=heads,
            multi_query=True,
            parallel_attn=True,
            bias=False,
            new_decoder_architecture=False,
        )
        self.model = FalconForCausalLM(config).eval()

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=input_ids, use_cache=False).logits


def get_inputs(B=B, T=T, V=V):
    return [torch.randint(0, V, (B, T))]


def get_init_inputs(V=V, D=D, L=L, H=H):
    return [V, D, L, H]


def min_bytes(B=B, T=T, V=V, D=D, L=L, H=H, itemsize=4):
    weights = V * D + L * (10 * D * D + 2 * D * (D // H))
    return (B * T * V + weights) * itemsize + 8 * B * T


def flops(B=B, T=T, V=V, D=D, L=L, H=H):
    return 2 * B * T * (L * (10 * D * D + 2 * D * (D // H)) + V * D) + 4 * B * D * T * (T + 1) // 2 * L
