"""Latent attention in its absorbed form: keys and values are one latent row, shared by all heads.

q (B, H, T, L), q_rope (B, H, T, E), latent (B, S, L), k_rope (B, S, E) → (B, H, T, L): softmax((q · latent + q_rope · k_rope) / √(L + E))
· latent.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "attention"
DIFFERENTIABLE = True

B = Dim(8, low=5, high=10, cpu=2)
H = Dim(16, fixed=True, cpu=4)
T = Dim(64, low=54, high=72, cpu=16)
S = Dim(4096, low=3461, high=4608, cpu=512)
L = Dim(512, low=432, high=576, align=8, cpu=128)
E = Dim(64, fixed=True, cpu=32)


class Model(nn.Module):
    def forward(self, q: torch.Tensor, q_rope: torch.Tensor, latent: torch.Tensor, k_rope: torch.Tensor) -> torch.Tensor:
        batch, heads, time, width = q.shape
        asked = torch.cat((q, q_rope), -1).flatten(1, 2)
        scores = asked @ torch.cat((latent, k_rope), -1).transpose(1, 2) / asked.shape[-1] ** 0.5
        return (torch.softmax(scores, -1) @ latent).view(batch, heads, time, width)


def get_inputs(B=B, H=H, T=T, S=S, L=L, E=E):
    return [torch.randn(B, H, T, L), torch.randn(B, H, T, E), torch.randn(B, S, L), torch.randn(B, S, E)]


def get_init_inputs():
    return []


def min_bytes(B=B, H=H, T=T, S=S, L=L, E=E, itemsize=4):
    return (2 * B * H * T * L + B * H * T * E + B * S * L + B * S * E) * itemsize


def flops(B=B, H=H, T=T, S=S, L=L, E=E):
    return 2 * B * H * T * S * (2 * L + E)
