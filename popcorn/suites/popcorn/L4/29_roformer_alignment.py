"""A genomic model with rotary positions (RoFormer): input_ids (B, T) → states (B, T, D); six layers of width D, random weights."""

import torch
from torch import nn
from transformers import RoFormerConfig, RoFormerModel

from popcorn.suites.jitter import Dim

DOMAIN = "genomics"
DIFFERENTIABLE = True

B = Dim(16, low=11, high=21, cpu=2)
T = Dim(1024, low=865, high=1152, cpu=48)
V = Dim(64, fixed=True, cpu=64)
D = Dim(512, fixed=True, cpu=128)
L = Dim(6, fixed=True, cpu=2)
H = Dim(8, fixed=True, cpu=4)


class Model(nn.Module):
    def __init__(self, vocabulary: int, width: int, depth: int, heads: int):
        super().__init__()
        config = RoFormerConfig(
            vocab_size=vocabulary,
            embedding_size=width,
            hidden_size=width,
            num_hidden_layers=depth,
            num_attention_heads=heads,
            intermediate_size=4 * width,
            max_position_embeddings=1536,
        )
        self.model = RoFormerModel(config).eval()

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=input_ids).last_hidden_state


def get_inputs(B=B, T=T, V=V):
    return [torch.randint(0, V, (B, T))]


def get_init_inputs(V=V, D=D, L=L, H=H):
    return [V, D, L, H]


def min_bytes(B=B, T=T, V=V, D=D, L=L, itemsize=4):
    weights = V * D + L * 12 * D * D
    return (B * T * D + weights) * itemsize + 8 * B * T


def flops(B=B, T=T, D=D, L=L):
    return 2 * B * T * L * 12 * D * D + 4 * B * T * T * D * L
