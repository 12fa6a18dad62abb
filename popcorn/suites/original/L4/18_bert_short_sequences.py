"""BERT at many short sequences: input_ids (B, T) → states (B, T, D); L layers of width D, random weights."""

import torch
from torch import nn
from transformers import BertConfig, BertModel

from popcorn.suites.jitter import Dim

DOMAIN = "language"
DIFFERENTIABLE = True

B = Dim(256, fixed=True, cpu=8)
T = Dim(32, fixed=True, cpu=16)
V = Dim(50358, fixed=True, cpu=512)
D = Dim(768, fixed=True, cpu=128)
L = Dim(12, fixed=True, cpu=2)
H = Dim(12, fixed=True, cpu=4)


class Model(nn.Module):
    def __init__(self, vocabulary: int, width: int, depth: int, heads: int):
        super().__init__()
        config = BertConfig(
            vocab_size=vocabulary,
            hidden_size=width,
            num_hidden_layers=depth,
            num_attention_heads=heads,
            intermediate_size=4 * width,
            max_position_embeddings=2050,
        )
        self.model = BertModel(config).eval()

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=input_ids).last_hidden_state


def get_inputs(B=B, T=T, V=V):
    return [torch.randint(0, V, (B, T))]


def get_init_inputs(V=V, D=D, L=L, H=H):
    return [V, D, L, H]


def min_bytes(B=B, T=T, V=V, D=D, L=L, itemsize=4):
    weights = (min(V, B * T) + T) * D + L * 12 * D * D
    return (B * T * D + weights) * itemsize + 8 * B * T


def flops(B=B, T=T, D=D, L=L):
    return 2 * B * T * L * 12 * D * D + 4 * B * T * T * D * L
