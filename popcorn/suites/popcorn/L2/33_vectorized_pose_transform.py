"""Points turned by unit quaternions and shifted: quaternion (B, 4), shift (B, 3), points (B, N, 3) → (B, N, 3).

Quaternions (w, x, y, z) are normalised first.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "robotics"
DIFFERENTIABLE = True

B = Dim(1024, low=865, high=1152, cpu=64)
N = Dim(4096, low=3461, high=4608, cpu=512)


class Model(nn.Module):
    def forward(self, quaternion: torch.Tensor, shift: torch.Tensor, points: torch.Tensor) -> torch.Tensor:
        quaternion = quaternion / (quaternion.square().sum(-1, keepdim=True) + 1e-6).sqrt()
        real, axis = quaternion[:, None, :1], quaternion[:, None, 1:].expand_as(points)
        twice = 2 * torch.linalg.cross(axis, points)
        return points + real * twice + torch.linalg.cross(axis, twice) + shift[:, None]


def get_inputs(B=B, N=N):
    return [torch.randn(B, 4), torch.randn(B, 3), torch.randn(B, N, 3)]


def get_init_inputs():
    return []


def min_bytes(B=B, N=N, itemsize=4):
    return (B * 4 + B * 3 + 2 * B * N * 3) * itemsize


def flops(B=B, N=N):
    return 30 * B * N
