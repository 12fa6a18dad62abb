"""ELECTRA's discriminator at a medium batch: input_ids (B, T) → a logit for every token (B, T); L layers of width D, random weights."""

import torch
from torch import nn
from transformers import ElectraConfig, ElectraForPreTraining

from popcorn.suites.jitter import Dim

DOMAIN = "language"
DIFFERENTIABLE = True

B = Dim(32, fixed=True, cpu=2)
T = Dim(256, fixed=True, cpu=48)
V = Dim(30522, fixed=True, cpu=512)
D = Dim(256, fixed=True, cpu=128)
L = Dim(12, fixed=True, cpu=2)
H = Dim(4, fixed=True, cpu=4)


class Model(nn.Module):
    def __init__(self, vocabulary: int, width: int, depth: int, heads: int):
        super().__init__()
        config = ElectraConfig(
            vocab_size=vocabulary,
            embedding_size=width // 2,
            hidden_size=width,
            num_hidden_layers=depth,
            num_attention_heads=heads,
            intermediate_size=4 * width,
            max_position_embeddings=512,
        )
        self.model = ElectraForPreTraining(config).eval()

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=input_ids).logits


def get_inputs(B=B, T=T, V=V):
    return [torch.randint(0, V, (B, T))]


def get_init_inputs(V=V, D=D, L=L, H=H):
    return [V, D, L, H]


def min_bytes(B=B, T=T, V=V, D=D, L=L, itemsize=4):
    weights = (min(V, B * T) + T) * D // 2 + L * 12 * D * D + D * D
    return (B * T + weights) * itemsize + 8 * B * T


def flops(B=B, T=T, D=D, L=L):
    return 2 * B * T * (L * 12 * D * D + D * D // 2 + D * D + D) + 4 * B * T * T * D * L
