"""linear_attn: q, k (B, H, T, K), v (B, H, T, J) → Σ over s ≤ t of (q_t · k_s) v_s / √K, (B, H, T, J): causal linear attention. Katharopoulos et al., 2020, with the identity as feature map."""

from popcorn.cases import LINEAR
from popcorn.ops.registry import Op

linear_attn = Op(
    "linear_attn",
    {"q": "B H T K", "k": "B H T K", "v": "B H T J"},
    out="B H T J",
    flops=lambda B, H, T, K, J: 4 * B * H * T * K * J,
    fixed=("K", "J"),
    workspace=lambda B, H, T, K, J: 2 * B * H * T * T,
    plan=LINEAR,
)
