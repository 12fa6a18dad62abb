"""Latent attention: keys and values expanded from a low-rank latent, with one rotary part shared by all heads.

latent (B, T, L), rope (B, T, E) → keys (B, H, T, K + E), values (B, H, T, K); the latent is RMS-normed with a weight, then projected.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "attention"
DIFFERENTIABLE = True

B = Dim(4, low=2, high=5, cpu=2)
T = Dim(4096, low=3461, high=4608, cpu=256)
L = Dim(512, low=432, high=576, align=8, cpu=128)
H = Dim(16, fixed=True, cpu=4)
K = Dim(128, fixed=True, cpu=32)
E = Dim(64, fixed=True, cpu=16)


class Model(nn.Module):
    def __init__(self, latent: int, heads: int, head_size: int):
        super().__init__()
        self.heads = heads
        self.weight = nn.Parameter(1 + 0.2 * torch.randn(latent))
        self.up = nn.Linear(latent, 2 * heads * head_size, bias=False)

    def forward(self, latent: torch.Tensor, rope: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        batch, time, _ = latent.shape
        latent = latent * torch.rsqrt(latent.square().mean(-1, keepdim=True) + 1e-6) * self.weight
        both = self.up(latent).view(batch, time, self.heads, -1).transpose(1, 2)
        keys, values = both.chunk(2, dim=-1)
        shared = rope[:, None].expand(-1, self.heads, -1, -1)
        return torch.cat((keys, shared), -1), values.contiguous()


def get_inputs(B=B, T=T, L=L, E=E):
    return [torch.randn(B, T, L), torch.randn(B, T, E)]


def get_init_inputs(L=L, H=H, K=K):
    return [L, H, K]


def min_bytes(B=B, T=T, L=L, H=H, K=K, E=E, itemsize=4):
    return (B * T * L + B * T * E + L + L * 2 * H * K + B * H * T * (K + E) + B * H * T * K) * itemsize


def flops(B=B, T=T, L=L, H=H, K=K):
    return 2 * B * T * L * 2 * H * K
