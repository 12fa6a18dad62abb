"""Linear layer that respects rotations: vectors are mixed, their lengths feed the scalars.

s (N, C), v (N, C, 3) → (s' (N, CO), v' (N, CO, 3)); s' = [s, |v|] · W, v' = v mixed over channels, scaled by σ(s').
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "scientific"
DIFFERENTIABLE = True

N = Dim(32768, low=27688, high=36864, cpu=2048)
C = Dim(128, low=112, high=152, align=8, cpu=48)
CO = Dim(128, low=112, high=152, align=8, cpu=64)


class Model(nn.Module):
    def __init__(self, channels: int, out_channels: int):
        super().__init__()
        self.scalars = nn.Linear(2 * channels, out_channels)
        self.vectors = nn.Parameter(torch.randn(out_channels, channels) / channels**0.5)

    def forward(self, s: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        length = (v.square().sum(-1) + 1e-6).sqrt()
        scalars = self.scalars(torch.cat((s, length), -1))
        vectors = torch.einsum("nci,oc->noi", v, self.vectors)
        return scalars, vectors * torch.sigmoid(scalars)[..., None]


def get_inputs(N=N, C=C):
    return [torch.randn(N, C), torch.randn(N, C, 3)]


def get_init_inputs(C=C, CO=CO):
    return [C, CO]


def min_bytes(N=N, C=C, CO=CO, itemsize=4):
    return (N * C + N * C * 3 + CO * (3 * C + 1) + N * CO + N * CO * 3) * itemsize


def flops(N=N, C=C, CO=CO):
    return 2 * N * CO * (2 * C + 3 * C)
