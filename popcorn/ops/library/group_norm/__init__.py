"""group_norm: x (B, C, S), weight, bias (C) → each of `groups` groups of channels to mean 0 and variance 1, scaled and moved. Wu and He, Group Normalization, 2018."""

from popcorn.cases import CHANNELS
from popcorn.ops.registry import Op

group_norm = Op(
    "group_norm",
    {"x": "B C S", "weight": "C", "bias": "C", "groups": 32, "eps": 1e-5},
    out="B C S",
    flops=lambda B, C, S: 8 * B * C * S,
    fixed=("C",),
    plan=CHANNELS,
)
