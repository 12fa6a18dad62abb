"""Layer norm by flash-linear-attention, in Triton. Needs torch."""

from fla.modules.layernorm import layer_norm
from torch import Tensor

from popcorn.ops.borrowed import aligned
from popcorn.ops.calls import needs

LANGUAGE = "triton"

accepts = needs(device="cuda", precisions=("float32", "bfloat16", "float16"), D=(1, 16384))
"""Rows of up to 64 KiB, in float32 too."""


def run(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """As the reference; contiguous copies where a tensor is not."""
    return layer_norm(aligned(x), aligned(weight), aligned(bias), eps=eps)
