"""Causal linear attention by flash-linear-attention, a chunk at a time, in Triton. Needs torch."""

from fla.ops.linear_attn import chunk_linear_attn
from torch import Tensor

from popcorn.ops.borrowed import aligned
from popcorn.ops.calls import needs

LANGUAGE = "triton"

MULTIPLES = {"K": 16, "J": 16}

accepts = needs(
    device="cuda", precisions=("bfloat16", "float16"), capability=((8, 0), (12, 1)), multiples=MULTIPLES, K=(16, 256), J=(16, 256)
)
"""Products of float32 would be in TF32 there."""


def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """As the reference. There, heads come after positions, and what stands for `normalize` here is off."""
    queries, keys, values = (aligned(t.transpose(1, 2)) for t in (q, k, v))
    return chunk_linear_attn(queries, keys, values, normalize=False)[0].transpose(1, 2).contiguous()
