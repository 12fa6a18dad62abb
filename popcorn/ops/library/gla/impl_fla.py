"""Gated linear attention by flash-linear-attention, a chunk at a time, in Triton. Needs torch."""

from fla.ops.gla import chunk_gla
from torch import Tensor

from popcorn.ops.borrowed import aligned
from popcorn.ops.calls import needs

LANGUAGE = "triton"

MULTIPLES = {"K": 16, "J": 16}

accepts = needs(
    device="cuda", precisions=("bfloat16", "float16"), capability=((8, 0), (12, 1)), multiples=MULTIPLES, K=(16, 256), J=(16, 256)
)
"""Products of float32 would be in TF32 there."""


def run(q: Tensor, k: Tensor, v: Tensor, g: Tensor) -> Tensor:
    """As the reference. There, heads come after positions."""
    queries, keys, values, gates = (aligned(t.transpose(1, 2)) for t in (q, k, v, g))
    return chunk_gla(queries, keys, values, gates)[0].transpose(1, 2).contiguous()
