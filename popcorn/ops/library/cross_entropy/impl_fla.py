"""Cross entropy of whole-number targets by flash-linear-attention, in Triton. Needs torch."""

from fla.modules.fused_cross_entropy import cross_entropy_loss
from torch import Tensor

from popcorn.ops.borrowed import rows
from popcorn.ops.calls import needs

LANGUAGE = "triton"

accepts = needs(device="cuda", precisions=("float32", "bfloat16", "float16"))


def run(logits: Tensor, target: Tensor) -> Tensor:
    """As the reference: there, losses of rows in float32, 0 for those left out."""
    flat = target.reshape(-1).contiguous()
    losses, _ = cross_entropy_loss(rows(logits), flat)
    return (losses.sum() / (flat != -100).sum()).to(logits.dtype)
