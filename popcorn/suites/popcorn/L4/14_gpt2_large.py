"""GPT-2 large in its shape, six layers: input_ids (B, T) → logits (B, T, V); random weights."""

import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel

from popcorn.suites.jitter import Dim

DOMAIN = "language"
DIFFERENTIABLE = True

B = Dim(4, low=2, high=5, cpu=1)
T = Dim(768, low=648, high=864, cpu=48)
V = Dim(50257, fixed=True, cpu=512)
D = Dim(1280, fixed=True, cpu=128)
L = Dim(6, fixed=True, cpu=2)
H = Dim(20, fixed=True, cpu=4)


class Model(nn.Module):
    def __init__(self, vocabulary: int, width: int, depth: int, heads: int):
        super().__init__()
        config = GPT2Config(vocab_size=vocabulary, n_embd=width, n_layer=depth, n_head=heads, n_positions=2048)
        self.model = GPT2LMHeadModel(config).eval()

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=input_ids, use_cache=False).logits


def get_inputs(B=B, T=T, V=V):
    return [torch.randint(0, V, (B, T))]


def get_init_inputs(V=V, D=D, L=L, H=H):
    return [V, D, L, H]


def min_bytes(B=B, T=T, V=V, D=D, L=L, itemsize=4):
    weights = (V + T) * D + L * 12 * D * D
    return (B * T * V + weights) * itemsize + 8 * B * T


def flops(B=B, T=T, V=V, D=D, L=L):
    return 2 * B * T * (L * 12 * D * D + V * D) + 4 * B * D * T * (T + 1) // 2 * L
