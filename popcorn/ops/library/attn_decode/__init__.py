"""attn_decode: q (B, H, K), pages of keys and values (P, L, G, K), table (B, M), lengths (B): one new token of each sequence against its paged cache."""

from typing import Any

from popcorn.cases import PAGED
from popcorn.ops.registry import Op


def _inputs(**dims: int) -> list[Any]:
    """Every length from 1 to what the table holds; pages in any order, shared ones too."""
    import torch

    b, h, k, p, length, g, m = (dims[name] for name in ("B", "H", "K", "P", "L", "G", "M"))
    cache = [torch.randn(p, length, g, k) for _ in range(2)]
    return [torch.randn(b, h, k), *cache, torch.randint(p, (b, m)), torch.randint(1, m * length + 1, (b,))]


attn_decode = Op(
    "attn_decode",
    {"q": "B H K", "keys": "P L G K", "values": "P L G K", "table": "B M < P", "lengths": "B < 2147483648"},
    out="B H K",
    differentiable=False,
    # lengths are half of what the tables hold on average, and so are the bytes and flops
    min_bytes=lambda B, H, K, P, L, G, M, itemsize: (2 * B * H * K + B * M * L * G * K) * itemsize + 8 * B * (M + 1),
    flops=lambda B, H, K, P, L, G, M: 2 * B * H * K * M * L,
    inputs=_inputs,
    fixed=("H", "K", "L", "G"),
    workspace=lambda B, H, K, P, L, G, M: 2 * B * M * L * H * K + 2 * P * L * G * K,
    plan=PAGED,
)
