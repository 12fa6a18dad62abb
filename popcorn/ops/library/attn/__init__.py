"""attn: q (B, H, T, K), k, v (B, G, T, K) → softmax(q kᵀ / √K) v, (B, H, T, K): self-attention, G of H heads hold keys and values (G divides H)."""

from popcorn.cases import ATTENTION
from popcorn.ops.registry import Op

attn = Op(
    "attn",
    {"q": "B H T K", "k": "B G T K", "v": "B G T K", "causal": True},
    out="B H T K",
    flops=lambda B, H, T, K, G: 2 * B * H * K * T * (T + 1),
    fixed=("H", "G", "K"),
    workspace=lambda B, H, T, K, G: 2 * B * H * T * T,
    plan=ATTENTION,
)
