"""A protein language model in the shape of ESM-2 650M, six layers, many short proteins: input_ids (B, T) → states (B, T, D); rotary
positions, random weights.
"""

import torch
from torch import nn
from transformers import EsmConfig, EsmModel

from popcorn.suites.jitter import Dim

DOMAIN = "protein"
DIFFERENTIABLE = True

B = Dim(32, low=22, high=42, cpu=4)
T = Dim(128, low=108, high=144, cpu=24)
V = Dim(33, fixed=True, cpu=33)
D = Dim(1280, fixed=True, cpu=128)
L = Dim(6, fixed=True, cpu=2)
H = Dim(20, fixed=True, cpu=4)


class Model(nn.Module):
    def __init__(self, vocabulary: int, width: int, depth: int, heads: int):
        super().__init__()
        config = EsmConfig(
            vocab_size=vocabulary,
            hidden_size=width,
            num_hidden_layers=depth,
            num_attention_heads=heads,
            intermediate_size=4 * width,
            position_embedding_type="rotary",
            token_dropout=False,
            pad_token_id=1,
            mask_token_id=32,
        )
        self.model = EsmModel(config).eval()

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=input_ids).last_hidden_state


def get_inputs(B=B, T=T, V=V):
    return [torch.randint(4, V, (B, T))]


def get_init_inputs(V=V, D=D, L=L, H=H):
    return [V, D, L, H]


def min_bytes(B=B, T=T, V=V, D=D, L=L, itemsize=4):
    weights = V * D + L * 12 * D * D
    return (B * T * D + weights) * itemsize + 8 * B * T


def flops(B=B, T=T, D=D, L=L):
    return 2 * B * T * L * 12 * D * D + 4 * B * T * T * D * L
