"""Convolution of volumes, then group norm, minimum with a constant, clamp, a given dropout mask: x (B, CI, S, H, H) → keep ·
clamp(min(group_norm(y), 1), −1, 1), keep (B, CO) int64 of 0 and 1, (B, CO, S − 2, H − 2, H − 2).

y = conv(x), (B, CO, S − 2, H − 2, H − 2), kernel 3 ; groups of 8 channels.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "convolution"
DIFFERENTIABLE = True

B = Dim(16, fixed=True, cpu=1)
CI = Dim(8, fixed=True, cpu=4)
CO = Dim(32, fixed=True, cpu=16)
S = Dim(16, fixed=True, cpu=8)
H = Dim(64, fixed=True, cpu=24)


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, 3)
        self.norm = nn.GroupNorm(out_channels // 8, out_channels)
        nn.init.normal_(self.norm.weight, 1.0, 0.2)
        nn.init.normal_(self.norm.bias, 0.0, 0.2)

    def forward(self, x: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        y = self.norm(y).clamp_max(1).clamp(-1, 1)
        return y * keep[:, :, None, None, None]


def get_inputs(B=B, CI=CI, CO=CO, S=S, H=H):
    return [torch.randn(B, CI, S, H, H), torch.randint(0, 2, (B, CO))]


def get_init_inputs(CI=CI, CO=CO):
    return [CI, CO]


def min_bytes(B=B, CI=CI, CO=CO, S=S, H=H, itemsize=4):
    return (B * CI * S * H * H + 27 * CI * CO + CO + 2 * CO + B * CO * (S - 2) * (H - 2) * (H - 2)) * itemsize + 8 * B * CO


def flops(B=B, CI=CI, CO=CO, S=S, H=H):
    return 2 * B * CO * (S - 2) * (H - 2) ** 2 * CI * 27
