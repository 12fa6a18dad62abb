"""attn_varlen: q (N, H, K), k, v (N, G, K), edges (E): self-attention within packed sequences; sequence i is rows edges[i] to edges[i + 1]."""

from typing import Any

from popcorn.cases import PACKED
from popcorn.ops.registry import Op


def _inputs(**dims: int) -> list[Any]:
    """Sequences of random lengths, empty ones among them."""
    import torch

    n, h, k, g, e = (dims[name] for name in ("N", "H", "K", "G", "E"))
    cuts = torch.randint(n + 1, (e,)).sort().values
    cuts[0], cuts[-1] = 0, n
    return [torch.randn(n, h, k), torch.randn(n, g, k), torch.randn(n, g, k), cuts]


attn_varlen = Op(
    "attn_varlen",
    {"q": "N H K", "k": "N G K", "v": "N G K", "edges": "E < N", "causal": True},
    out="N H K",
    flops=lambda N, H, K, G, E: 2 * H * K * N * (N / (E - 1) + 1),
    inputs=_inputs,
    fixed=("H", "G", "K", "E"),
    workspace=lambda N, H, K, G, E: 2 * H * N * N,
    plan=PACKED,
)
