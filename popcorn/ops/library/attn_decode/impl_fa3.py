"""One step of decoding against a paged cache by FlashAttention-3, for Hopper: pages are read where they are. Needs torch."""

import torch
from flash_attn_interface import flash_attn_with_kvcache
from torch import Tensor

from popcorn.ops.borrowed import aligned
from popcorn.ops.calls import needs

LANGUAGE = "cuda"

MULTIPLES = {"K": 8}

accepts = needs(
    device="cuda", precisions=("bfloat16", "float16"), capability=((9, 0), (9, 0)), multiples=MULTIPLES, backward=False, K=(8, 256)
)


def run(q: Tensor, keys: Tensor, values: Tensor, table: Tensor, lengths: Tensor) -> Tensor:
    """As the reference. There, a query has a position, table and lengths are int32; the one new token sees all that came before it."""
    made = flash_attn_with_kvcache(
        aligned(q)[:, None], aligned(keys), aligned(values), cache_seqlens=lengths.to(torch.int32), page_table=table.to(torch.int32)
    )
    return (made[0] if isinstance(made, tuple) else made).squeeze(1).contiguous()
