"""All-gather over virtual ranks, then a linear layer: R shards of the features are joined along the last dimension.

x (R, B, H) → gathered (B, R·H), rank 0 first → out (B, K) = gathered · weightᵀ + bias.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "distributed"
DIFFERENTIABLE = True

R = Dim(4, low=2, high=8, cpu=4)
B = Dim(8192, low=6912, high=9216, align=8, cpu=512)
H = Dim(1024, low=872, high=1152, align=8, cpu=128)
K = Dim(2048, low=1736, high=2304, align=8, cpu=512)


class Model(nn.Module):
    def __init__(self, ranks: int, shard: int, out_features: int):
        super().__init__()
        self.proj = nn.Linear(ranks * shard, out_features, bias=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gathered = torch.cat(x.unbind(0), dim=-1)
        return self.proj(gathered)


def get_inputs(R=R, B=B, H=H):
    return [torch.randn(R, B, H)]


def get_init_inputs(R=R, H=H, K=K):
    return [R, H, K]


def min_bytes(R=R, B=B, H=H, K=K, itemsize=4):
    return (R * B * H + K * R * H + K + B * K) * itemsize


def flops(R=R, B=B, H=H, K=K):
    return 2 * B * R * H * K
