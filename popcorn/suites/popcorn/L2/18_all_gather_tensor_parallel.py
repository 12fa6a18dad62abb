"""Shards of the features gathered from all ranks, then a linear layer: x (B, H) on every rank → (B, K), from (B, H · ranks), rank 0 first.

Every rank has the whole weight and bias, drawn from the same seed.
"""

import torch
from torch import distributed as dist
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "communication"
DIFFERENTIABLE = False
RANKS = 2

B = Dim(8192, low=6912, high=9216, align=8, cpu=256)
H = Dim(2048, low=1736, high=2304, align=8, cpu=128)
K = Dim(4096, low=3456, high=4608, align=8, cpu=256)


class Model(nn.Module):
    def __init__(self, world: int, shard: int, out_features: int):
        super().__init__()
        self.proj = nn.Linear(world * shard, out_features)

    def forward(self, x: torch.Tensor, group: dist.ProcessGroup) -> torch.Tensor:
        parts = [torch.empty_like(x) for _ in range(dist.get_world_size(group))]
        dist.all_gather(parts, x.contiguous(), group=group)
        return self.proj(torch.cat(parts, dim=-1))


def get_inputs(B=B, H=H):
    return [torch.randn(B, H)]


def get_init_inputs(WORLD=2, H=H, K=K):
    return [WORLD, H, K]


def min_bytes(B=B, H=H, K=K, WORLD=2, itemsize=4):
    return (WORLD * B * H + K * WORLD * H + K + B * K) * itemsize


def link_bytes(B=B, H=H, WORLD=2, itemsize=4):
    """Bytes that each rank must receive."""
    return (WORLD - 1) * B * H * itemsize


def flops(B=B, H=H, K=K, WORLD=2):
    return 2 * B * WORLD * H * K
