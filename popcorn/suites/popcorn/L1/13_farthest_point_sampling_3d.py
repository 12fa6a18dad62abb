"""Farthest point sampling: from point 0 on, K times the point that is farthest from all chosen ones.

points (B, N, 3) → (chosen points (B, K, 3), their squared distance from those chosen before (B, K)). The choice is sequential; each step
is one pass over all points.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "geometry"
DIFFERENTIABLE = False

B = Dim(64, low=54, high=72, cpu=8)
N = Dim(65536, low=55377, high=73728, cpu=1024)
K = Dim(64, fixed=True, cpu=24)


class Model(nn.Module):
    def __init__(self, samples: int):
        super().__init__()
        self.samples = samples

    def forward(self, points: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        dtype = points.dtype
        points = points.to(torch.promote_types(dtype, torch.float32))  # in half precision the choice would be rounding's
        far = points.square().sum(-1) + torch.inf
        at = torch.zeros(points.shape[0], dtype=torch.int64, device=points.device)
        rows, chosen, distances = torch.arange(points.shape[0], device=points.device), [], []
        for _ in range(self.samples):
            here = points[rows, at]
            chosen.append(here)
            far = torch.minimum(far, (points - here[:, None]).square().sum(-1))
            distance, at = far.max(-1)
            distances.append(distance)
        return torch.stack(chosen, 1).to(dtype), torch.stack(distances, 1).to(dtype)


def get_inputs(B=B, N=N):
    return [torch.randn(B, N, 3)]


def get_init_inputs(K=K):
    return [K]


def min_bytes(B=B, N=N, K=K, itemsize=4):
    return (B * N * 3 + B * K * 3 + B * K) * itemsize


def flops(B=B, N=N, K=K):
    return 8 * B * N * K
