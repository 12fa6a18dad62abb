"""Causal convolution with a filter as long as the sequence: x (B, C, T) → out[t] = Σ_{s ≤ t} filter[c, t − s] · x[s].

The reference goes through a Fourier transform of twice the length.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "genomics"
DIFFERENTIABLE = True

B = Dim(8, low=5, high=10, cpu=2)
C = Dim(256, low=216, high=288, align=8, cpu=32)
T = Dim(8192, low=6922, high=9216, cpu=1024)


class Model(nn.Module):
    def __init__(self, channels: int, time: int):
        super().__init__()
        decay = torch.exp(-torch.arange(time) / (0.1 * time))
        self.filter = nn.Parameter(torch.randn(channels, time) * decay / time**0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        time = x.shape[-1]
        wide = torch.promote_types(x.dtype, torch.float32)  # transforms know no half precision
        spectrum = torch.fft.rfft(x.to(wide), 2 * time) * torch.fft.rfft(self.filter.to(wide), 2 * time)
        return torch.fft.irfft(spectrum, 2 * time)[..., :time].to(x.dtype)


def get_inputs(B=B, C=C, T=T):
    return [torch.randn(B, C, T)]


def get_init_inputs(C=C, T=T):
    return [C, T]


def min_bytes(B=B, C=C, T=T, itemsize=4):
    return (2 * B * C * T + C * T) * itemsize


def flops(B=B, C=C, T=T):
    return 30 * B * C * T
