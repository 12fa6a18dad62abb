"""The gated delta rule by flash-linear-attention, a chunk at a time, in Triton. Needs torch."""

from fla.modules.l2norm import l2norm
from fla.ops.gated_delta_rule import chunk_gated_delta_rule
from torch import Tensor

from popcorn.ops.borrowed import aligned
from popcorn.ops.calls import needs

LANGUAGE = "triton"

MULTIPLES = {"K": 16, "J": 16}

accepts = needs(
    device="cuda", precisions=("bfloat16", "float16"), capability=((8, 0), (12, 1)), multiples=MULTIPLES, K=(16, 256), J=(16, 256)
)
"""Products of float32 would be in TF32 there."""


def run(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor) -> Tensor:
    """As the reference. There, heads come after positions; its own switch would bring the queries to length 1, too, so keys are before the call."""
    queries, keys, values, gates, strengths = (aligned(t.transpose(1, 2)) for t in (q, k, v, g, beta))
    return chunk_gated_delta_rule(queries, l2norm(keys, 1e-6), values, gates, strengths)[0].transpose(1, 2).contiguous()
