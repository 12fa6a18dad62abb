"""The image tower of small vision-language-action models (SigLIP), four layers: x (B, 3, S, S) → states (B, tokens, D); patches of 16, L
layers of width D, H heads; random weights.
"""

import torch
from torch import nn
from transformers import SiglipVisionConfig, SiglipVisionModel

from popcorn.suites.jitter import Dim

DOMAIN = "vision language"
DIFFERENTIABLE = True

B = Dim(16, low=11, high=21, cpu=2)
S = Dim(384, fixed=True, align=16, cpu=64)
D = Dim(768, fixed=True, cpu=128)
L = Dim(4, fixed=True, cpu=2)
H = Dim(12, fixed=True, cpu=4)


class Model(nn.Module):
    def __init__(self, side: int, width: int, depth: int, heads: int):
        super().__init__()
        config = SiglipVisionConfig(
            image_size=side,
            patch_size=16,
            hidden_size=width,
            num_hidden_layers=depth,
            num_attention_heads=heads,
            intermediate_size=4 * width,
            vision_use_head=False,
        )
        self.model = SiglipVisionModel(config).eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(pixel_values=x).last_hidden_state


def get_inputs(B=B, S=S):
    return [torch.randn(B, 3, S, S)]


def get_init_inputs(S=S, D=D, L=L, H=H):
    return [S, D, L, H]


def min_bytes(B=B, S=S, D=D, L=L, itemsize=4):
    weights = 3 * 16 * 16 * D + L * 12 * D * D + ((S // 16) ** 2) * D
    return (B * (3 * S * S + ((S // 16) ** 2) * D) + weights) * itemsize


def flops(B=B, S=S, D=D, L=L):
    tokens = (S // 16) ** 2
    return 2 * B * ((S // 16) ** 2 * 3 * 16 * 16 * D + tokens * L * 12 * D * D) + 4 * B * tokens * tokens * D * L
