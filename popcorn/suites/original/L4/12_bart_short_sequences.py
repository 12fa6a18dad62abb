"""BART at many short sequences: input_ids (B, T) → the decoder's last states (B, T, D); L layers each in encoder and decoder, random
weights.
"""

import torch
from torch import nn
from transformers import BartConfig, BartModel

from popcorn.suites.jitter import Dim

DOMAIN = "language"
DIFFERENTIABLE = True

B = Dim(256, fixed=True, cpu=4)
T = Dim(32, fixed=True, cpu=16)
V = Dim(50265, fixed=True, cpu=512)
D = Dim(768, fixed=True, cpu=128)
L = Dim(6, fixed=True, cpu=2)
H = Dim(12, fixed=True, cpu=4)


class Model(nn.Module):
    def __init__(self, vocabulary: int, width: int, depth: int, heads: int):
        super().__init__()
        config = BartConfig(
            vocab_size=vocabulary,
            d_model=width,
            encoder_layers=depth,
            decoder_layers=depth,
            max_position_embeddings=2048,
            encoder_attention_heads=heads,
            decoder_attention_heads=heads,
            encoder_ffn_dim=4 * width,
            decoder_ffn_dim=4 * width,
        )
        self.model = BartModel(config).eval()

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=input_ids, use_cache=False).last_hidden_state


def get_inputs(B=B, T=T, V=V):
    return [torch.randint(0, V, (B, T))]


def get_init_inputs(V=V, D=D, L=L, H=H):
    return [V, D, L, H]


def min_bytes(B=B, T=T, V=V, D=D, L=L, itemsize=4):
    weights = min(V, B * T) * D + 2 * T * D + L * 28 * D * D
    return (B * T * D + weights) * itemsize + 8 * B * T


def flops(B=B, T=T, D=D, L=L):
    return 2 * B * T * L * 28 * D * D + 4 * B * D * L * (2 * T * T + T * (T + 1) // 2)
