"""T5's encoder at a medium batch: input_ids (B, T) → states (B, T, D); L layers of width D with relative positions, random weights."""

import torch
from torch import nn
from transformers import T5Config, T5EncoderModel

from popcorn.suites.jitter import Dim

DOMAIN = "language"
DIFFERENTIABLE = True

B = Dim(32, fixed=True, cpu=2)
T = Dim(512, fixed=True, cpu=64)
V = Dim(32128, fixed=True, cpu=512)
D = Dim(768, fixed=True, cpu=128)
L = Dim(12, fixed=True, cpu=2)
H = Dim(12, fixed=True, cpu=4)


class Model(nn.Module):
    def __init__(self, vocabulary: int, width: int, depth: int, heads: int):
        super().__init__()
        config = T5Config(vocab_size=vocabulary, d_model=width, d_kv=width // heads, d_ff=4 * width, num_layers=depth, num_heads=heads)
        self.model = T5EncoderModel(config).eval()

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=input_ids).last_hidden_state


def get_inputs(B=B, T=T, V=V):
    return [torch.randint(0, V, (B, T))]


def get_init_inputs(V=V, D=D, L=L, H=H):
    return [V, D, L, H]


def min_bytes(B=B, T=T, V=V, D=D, L=L, itemsize=4):
    weights = min(V, B * T) * D + L * 12 * D * D
    return (B * T * D + weights) * itemsize + 8 * B * T


def flops(B=B, T=T, D=D, L=L):
    return 2 * B * T * L * 12 * D * D + 4 * B * T * T * D * L
