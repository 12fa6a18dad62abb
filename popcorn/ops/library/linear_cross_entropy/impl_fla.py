"""The last layer and its loss by flash-linear-attention, a chunk of rows at a time: its logits and gradients are made in the forward pass. Needs torch."""

from fla.modules.fused_linear_cross_entropy import fused_linear_cross_entropy_loss
from torch import Tensor

from popcorn.ops.borrowed import aligned, mean_or_nan, rows
from popcorn.ops.calls import needs

LANGUAGE = "triton"

accepts = needs(device="cuda", precisions=("float32", "bfloat16", "float16"))


def run(x: Tensor, weight: Tensor, target: Tensor) -> Tensor:
    """As the reference."""
    flat = target.reshape(-1).contiguous()
    return mean_or_nan(fused_linear_cross_entropy_loss(rows(x), flat, aligned(weight)), flat, x.dtype)
