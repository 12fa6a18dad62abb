"""matmul: a (…, K) · b (K, N) → (…, N)."""

from popcorn.cases import PRODUCT
from popcorn.ops.registry import Op

matmul = Op(
    "matmul",
    {"a": "... K", "b": "K N"},
    out="... N",
    flops=lambda R, K, N: 2 * R * K * N,
    plan=PRODUCT,
)
