"""How far triangles and boxes are apart in the plane, by separating axes.

triangle (R, 3, 2) corners, box (K, 2, 2) centre and half sides before softplus → (R, K): the largest gap over the five axes (two of the
box, three normals of the triangle); negative where they overlap.
"""

import torch
from torch import nn
from torch.nn import functional

from popcorn.suites.jitter import Dim

DOMAIN = "robotics"
DIFFERENTIABLE = True

R = Dim(2048, low=1730, high=2304, cpu=128)
K = Dim(8192, low=6922, high=9216, cpu=192)


class Model(nn.Module):
    def forward(self, triangle: torch.Tensor, box: torch.Tensor) -> torch.Tensor:
        centre, half = box[:, 0], functional.softplus(box[:, 1])
        edges = triangle.roll(-1, 1) - triangle
        normals = torch.stack((-edges[..., 1], edges[..., 0]), -1)
        normals = normals / (normals.square().sum(-1, keepdim=True) + 1e-6).sqrt()
        across = normals @ triangle.transpose(1, 2)
        place = torch.einsum("rnd,kd->rkn", normals, centre)
        reach = torch.einsum("rnd,kd->rkn", normals.abs(), half)
        middle = (across.amax(-1) + across.amin(-1)) / 2
        spread = (across.amax(-1) - across.amin(-1)) / 2
        slanted = (place - middle[:, None]).abs() - reach - spread[:, None]
        low, high = triangle.amin(1), triangle.amax(1)
        straight = ((low + high)[:, None] / 2 - centre).abs() - half - (high - low)[:, None] / 2
        return torch.maximum(slanted.amax(-1), straight.amax(-1))


def get_inputs(R=R, K=K):
    return [torch.randn(R, 3, 2), torch.randn(K, 2, 2)]


def get_init_inputs():
    return []


def min_bytes(R=R, K=K, itemsize=4):
    return (R * 3 * 2 + K * 2 * 2 + R * K) * itemsize


def flops(R=R, K=K):
    return 24 * R * K + 36 * R
