"""A Hyena operator: projections, short convolutions, two gated long convolutions: x (B, T, D) → (B, T, D).

q, k, v by a linear layer and a causal depthwise convolution of width 3; out = W (q · (filter ∗ (k · v))), the filter as long as the
sequence, the convolution through a Fourier transform.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "genomics"
DIFFERENTIABLE = True

B = Dim(4, low=2, high=5, cpu=1)
T = Dim(4096, low=3461, high=4608, cpu=256)
D = Dim(512, low=432, high=576, align=8, cpu=64)


class Model(nn.Module):
    def __init__(self, width: int, time: int):
        super().__init__()
        self.enter = nn.Linear(width, 3 * width, bias=False)
        self.short = nn.Conv1d(3 * width, 3 * width, 3, groups=3 * width)
        self.filter = nn.Parameter(torch.randn(width, time) * torch.exp(-torch.arange(time) / (0.1 * time)) / time**0.5)
        self.leave = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        time = x.shape[1]
        mixed = self.short(functional.pad(self.enter(x).transpose(1, 2), (2, 0)))
        q, k, v = mixed.chunk(3, 1)
        wide = torch.promote_types(x.dtype, torch.float32)  # transforms know no half precision
        spectrum = torch.fft.rfft((k * v).to(wide), 2 * time) * torch.fft.rfft(self.filter.to(wide), 2 * time)
        long = torch.fft.irfft(spectrum, 2 * time)[..., :time].to(x.dtype)
        return self.leave((q * long).transpose(1, 2))


def get_inputs(B=B, T=T, D=D):
    return [torch.randn(B, T, D)]


def get_init_inputs(D=D, T=T):
    return [D, T]


def min_bytes(B=B, T=T, D=D, itemsize=4):
    return (2 * B * T * D + 4 * D * D + 13 * D + D * T) * itemsize


def flops(B=B, T=T, D=D):
    return 8 * B * T * D * D + 18 * B * T * D
