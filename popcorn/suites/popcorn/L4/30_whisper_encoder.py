"""Whisper's encoder in its small shape, four layers: features (B, 80, 2·T) → states (B, T, D); two convolutions, L layers, random
weights.
"""

import torch
from torch import nn
from transformers import WhisperConfig, WhisperModel

from popcorn.suites.jitter import Dim

DOMAIN = "audio"
DIFFERENTIABLE = True

B = Dim(8, low=5, high=10, cpu=1)
T = Dim(1500, fixed=True, cpu=64)
D = Dim(768, fixed=True, cpu=128)
L = Dim(4, fixed=True, cpu=2)
H = Dim(12, fixed=True, cpu=4)


class Model(nn.Module):
    def __init__(self, time: int, width: int, depth: int, heads: int):
        super().__init__()
        config = WhisperConfig(
            d_model=width,
            encoder_layers=depth,
            encoder_attention_heads=heads,
            encoder_ffn_dim=4 * width,
            max_source_positions=time,
            decoder_layers=1,
            decoder_attention_heads=heads,
            decoder_ffn_dim=width,
            vocab_size=64,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
            decoder_start_token_id=1,
        )
        self.model = WhisperModel(config).get_encoder().eval()

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return self.model(input_features=features).last_hidden_state


def get_inputs(B=B, T=T):
    return [torch.randn(B, 80, 2 * T)]


def get_init_inputs(T=T, D=D, L=L, H=H):
    return [T, D, L, H]


def min_bytes(B=B, T=T, D=D, L=L, itemsize=4):
    weights = T * D + L * 12 * D * D + 240 * D + 3 * D * D
    return (B * T * (160 + D) + weights) * itemsize


def flops(B=B, T=T, D=D, L=L):
    return 2 * B * T * (2 * 240 * D + 3 * D * D + L * 12 * D * D) + 4 * B * T * T * D * L
