"""A vision transformer in the shape of a small weather model: x (B, 3, S, S) → states (B, tokens, D); patches of 8, L layers of width D,
H heads; random weights.
"""

import torch
from torch import nn
from transformers import ViTConfig, ViTModel

from popcorn.suites.jitter import Dim

DOMAIN = "scientific"
DIFFERENTIABLE = True

B = Dim(16, low=11, high=21, cpu=2)
S = Dim(256, fixed=True, align=8, cpu=32)
D = Dim(512, fixed=True, cpu=128)
L = Dim(6, fixed=True, cpu=2)
H = Dim(8, fixed=True, cpu=4)


class Model(nn.Module):
    def __init__(self, side: int, width: int, depth: int, heads: int):
        super().__init__()
        config = ViTConfig(
            image_size=side,
            patch_size=8,
            hidden_size=width,
            num_hidden_layers=depth,
            num_attention_heads=heads,
            intermediate_size=4 * width,
        )
        self.model = ViTModel(config).eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(pixel_values=x).last_hidden_state


def get_inputs(B=B, S=S):
    return [torch.randn(B, 3, S, S)]


def get_init_inputs(S=S, D=D, L=L, H=H):
    return [S, D, L, H]


def min_bytes(B=B, S=S, D=D, L=L, itemsize=4):
    weights = 3 * 8 * 8 * D + L * 12 * D * D + ((S // 8) ** 2 + 1) * D
    return (B * (3 * S * S + ((S // 8) ** 2 + 1) * D) + weights) * itemsize


def flops(B=B, S=S, D=D, L=L):
    tokens = (S // 8) ** 2 + 1
    return 2 * B * ((S // 8) ** 2 * 3 * 8 * 8 * D + tokens * L * 12 * D * D) + 4 * B * tokens * tokens * D * L
