"""grouped_matmul: x (M, K) with rows grouped, weight (E, K, N), ends (E) → rows of group e times weight[e], (M, N); group e is rows ends[e − 1] to ends[e]."""

from typing import Any

from popcorn.cases import GROUPS
from popcorn.ops.registry import Op


def _inputs(**dims: int) -> list[Any]:
    """Groups of random sizes, empty ones among them."""
    import torch

    m, k, e, n = (dims[name] for name in ("M", "K", "E", "N"))
    ends = torch.randint(m + 1, (e,)).sort().values
    ends[-1] = m
    return [torch.randn(m, k), torch.randn(e, k, n), ends]


grouped_matmul = Op(
    "grouped_matmul",
    {"x": "M K", "weight": "E K N", "ends": "E < M"},
    out="M N",
    flops=lambda M, K, E, N: 2 * M * K * N,
    inputs=_inputs,
    fixed=("E",),
    plan=GROUPS,
)
