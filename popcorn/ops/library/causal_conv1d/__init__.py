"""causal_conv1d: x (B, D, T), weight (D, W), bias (D) → silu of each channel's convolution with its own W weights over the present and the past: Mamba's."""

from popcorn.cases import CONVOLUTION
from popcorn.ops.registry import Op

causal_conv1d = Op(
    "causal_conv1d",
    {"x": "B D T", "weight": "D W", "bias": "D"},
    out="B D T",
    flops=lambda B, D, T, W: B * D * T * (2 * W + 5),
    fixed=("W",),
    plan=CONVOLUTION,
)
