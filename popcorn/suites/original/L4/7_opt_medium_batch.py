"""OPT at a medium batch: input_ids (B, T) → logits (B, T, V); L blocks of width D, random weights."""

import torch
from torch import nn
from transformers import OPTConfig, OPTForCausalLM

from popcorn.suites.jitter import Dim

DOMAIN = "language"
DIFFERENTIABLE = True

B = Dim(32, fixed=True, cpu=2)
T = Dim(256, fixed=True, cpu=48)
V = Dim(50272, fixed=True, cpu=512)
D = Dim(1024, fixed=True, cpu=128)
L = Dim(12, fixed=True, cpu=2)
H = Dim(16, fixed=True, cpu=4)


class Model(nn.Module):
    def __init__(self, vocabulary: int, width: int, depth: int, heads: int):
        super().__init__()
        config = OPTConfig(
            vocab_size=vocabulary,
            hidden_size=width,
            num_hidden_layers=depth,
            num_attention_heads=heads,
            ffn_dim=4 * width,
            max_position_embeddings=2048,
            word_embed_proj_dim=width,
        )
        self.model = OPTForCausalLM(config).eval()

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=input_ids, use_cache=False).logits


def get_inputs(B=B, T=T, V=V):
    return [torch.randint(0, V, (B, T))]


def get_init_inputs(V=V, D=D, L=L, H=H):
    return [V, D, L, H]


def min_bytes(B=B, T=T, V=V, D=D, L=L, itemsize=4):
    weights = (V + T) * D + L * (12 * D * D + 13 * D) + 2 * D
    return (B * T * V + weights) * itemsize + 8 * B * T


def flops(B=B, T=T, V=V, D=D, L=L):
    return 2 * B * T * (L * 12 * D * D + V * D) + 4 * B * D * T * (T + 1) // 2 * L
