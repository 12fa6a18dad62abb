"""Cross entropy of whole-number targets by QuACK, in CuTe DSL. Needs torch."""

import quack
from torch import Tensor

from popcorn.ops.borrowed import dense, rows
from popcorn.ops.calls import needs

LANGUAGE = "cute"

MULTIPLES = {"V": 8}

accepts = needs(
    device="cuda", precisions=("float32", "bfloat16", "float16"), capability=((9, 0), (12, 1)), multiples=MULTIPLES, V=(64, 262144)
)


def run(logits: Tensor, target: Tensor) -> Tensor:
    """As the reference: there, losses of rows in float32, 0 for those left out."""
    flat = target.reshape(-1).contiguous()
    losses = dense(quack.cross_entropy(rows(logits), flat, reduction="none"))
    return (losses.sum() / (flat != -100).sum()).to(logits.dtype)
