"""int8_matmul: x (…, K), weight (N, K) of int8, scale (N) → x · (weight · scale)ᵀ, (…, N): a layer whose weights are kept in 8 bits, a scale a row."""

from typing import Any

from popcorn.cases import PRODUCT
from popcorn.ops.registry import Op


def _inputs(**dims: int) -> list[Any]:
    import torch

    r, k, n = (dims[name] for name in ("R", "K", "N"))
    return [torch.randn(r, k), torch.randint(-127, 128, (n, k), dtype=torch.int8), torch.rand(n) / 127]


int8_matmul = Op(
    "int8_matmul",
    {"x": "... K", "weight": "N K < 128", "scale": "N"},
    out="... N",
    min_bytes=lambda R, K, N, itemsize: (R * K + R * N + N) * itemsize + N * K,
    flops=lambda R, K, N: 2 * R * K * N,
    inputs=_inputs,
    workspace=lambda R, K, N: 2 * N * K,
    plan=PRODUCT,
)
