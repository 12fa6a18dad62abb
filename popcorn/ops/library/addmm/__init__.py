"""addmm: bias (N) + a (…, K) · b (K, N) → (…, N)."""

from popcorn.cases import PRODUCT
from popcorn.ops.registry import Op

addmm = Op(
    "addmm",
    {"bias": "N", "a": "... K", "b": "K N"},
    out="... N",
    flops=lambda N, R, K: 2 * R * K * N + R * N,
    plan=PRODUCT.ordered("N", "R", "K"),
)
