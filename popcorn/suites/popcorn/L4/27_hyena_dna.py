"""A genomic model of L Hyena blocks: tokens (B, T) int64 in [0, 12) → logits (B, T, 12); filters as long as the sequence, MLP of 4·D."""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "genomics"
DIFFERENTIABLE = True

B = Dim(2, low=1, high=3, cpu=1)
T = Dim(8192, low=6922, high=9216, cpu=192)
D = Dim(256, fixed=True, cpu=64)
L = Dim(4, fixed=True, cpu=2)


class Block(nn.Module):
    """Projections and a short convolution; a gated long convolution through a Fourier transform; an MLP."""

    def __init__(self, width: int, time: int):
        super().__init__()
        self.enter, self.leave = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.short = nn.Conv1d(3 * width, 3 * width, 3, groups=3 * width)
        self.filter = nn.Parameter(torch.randn(width, time) * torch.exp(-torch.arange(time) / (0.1 * time)) / time**0.5)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        time = x.shape[1]
        q, k, v = self.short(functional.pad(self.enter(functional.rms_norm(x, x.shape[-1:], eps=1e-6)).transpose(1, 2), (2, 0))).chunk(3, 1)
        wide = torch.promote_types(x.dtype, torch.float32)  # transforms know no half precision
        spectrum = torch.fft.rfft((k * v).to(wide), 2 * time) * torch.fft.rfft(self.filter.to(wide), 2 * time)
        long = torch.fft.irfft(spectrum, 2 * time)[..., :time].to(x.dtype)
        x = x + self.leave((q * long).transpose(1, 2))
        return x + self.down(functional.gelu(self.up(functional.rms_norm(x, x.shape[-1:], eps=1e-6))))


class Model(nn.Module):
    def __init__(self, time: int, width: int, depth: int):
        super().__init__()
        self.embedding = nn.Parameter(torch.randn(12, width) / width**0.5)
        self.blocks = nn.ModuleList(Block(width, time) for _ in range(depth))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding[tokens]
        for block in self.blocks:
            x = block(x)
        return x @ self.embedding.T


def get_inputs(B=B, T=T):
    return [torch.randint(0, 12, (B, T))]


def get_init_inputs(T=T, D=D, L=L):
    return [T, D, L]


def min_bytes(B=B, T=T, D=D, L=L, itemsize=4):
    return (L * (12 * D * D + 14 * D + D * T) + 12 * D + B * T * 12) * itemsize + 8 * B * T


def flops(B=B, T=T, D=D, L=L):
    return 2 * B * T * (L * 12 * D * D + 12 * D) + 18 * B * T * D * L
