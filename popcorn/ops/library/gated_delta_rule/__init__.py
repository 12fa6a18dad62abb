"""gated_delta_rule: q, k (B, H, T, K), v (B, H, T, J), g, beta (B, H, T) → o_t = q_t S_t / √K with S_t = exp(g_t) S_(t−1) + β_t k_tᵀ (v_t − k_t exp(g_t) S_(t−1)), k of length 1. Yang et al., Gated Delta Networks, 2025."""

from typing import Any

from popcorn.cases import RECURRENT
from popcorn.ops.registry import Op


def _inputs(**dims: int) -> list[Any]:
    """The gate is the log of a decay, at most 0; beta is between 0 and 1."""
    import torch

    b, h, t, k, j = (dims[name] for name in ("B", "H", "T", "K", "J"))
    return [torch.randn(b, h, t, k), torch.randn(b, h, t, k), torch.randn(b, h, t, j), -torch.rand(b, h, t), torch.rand(b, h, t)]


gated_delta_rule = Op(
    "gated_delta_rule",
    {"q": "B H T K", "k": "B H T K", "v": "B H T J", "g": "B H T", "beta": "B H T"},
    out="B H T J",
    flops=lambda B, H, T, K, J: 7 * B * H * T * K * J,
    inputs=_inputs,
    fixed=("K", "J"),
    workspace=lambda B, H, T, K, J: 4 * B * H * T * K * J,
    plan=RECURRENT,
)
