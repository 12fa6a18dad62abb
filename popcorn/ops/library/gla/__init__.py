"""gla: q, k, g (B, H, T, K), v (B, H, T, J) → o_t = q_t S_t / √K with S_t = diag(exp g_t) S_(t−1) + k_tᵀ v_t: gated linear attention. Yang et al., 2024."""

from typing import Any

from popcorn.cases import RECURRENT
from popcorn.ops.registry import Op


def _inputs(**dims: int) -> list[Any]:
    """The gate is the log of a decay: at most 0."""
    import torch

    b, h, t, k, j = (dims[name] for name in ("B", "H", "T", "K", "J"))
    return [torch.randn(b, h, t, k), torch.randn(b, h, t, k), torch.randn(b, h, t, j), -torch.rand(b, h, t, k)]


gla = Op(
    "gla",
    {"q": "B H T K", "k": "B H T K", "v": "B H T J", "g": "B H T K"},
    out="B H T J",
    flops=lambda B, H, T, K, J: 5 * B * H * T * K * J,
    inputs=_inputs,
    fixed=("K", "J"),
    workspace=lambda B, H, T, K, J: 3 * B * H * T * K * J,
    plan=RECURRENT,
)
