"""rotary_embedding: x (B, H, T, K), positions (B, T) → x with the halves of each head turned by positions · theta^(−2i/K); the angles are made here, not read. Su et al., RoFormer, 2021."""

from popcorn.cases import TURNED
from popcorn.ops.registry import Op

rotary_embedding = Op(
    "rotary_embedding",
    {"x": "B H T K", "positions": "B T < 131072", "theta": 10000.0},
    out="B H T K",
    flops=lambda B, H, T, K: 3 * B * H * T * K,
    fixed=("K",),
    plan=TURNED,
)
