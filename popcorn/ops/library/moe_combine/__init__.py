"""moe_combine: rows (N·A, D) grouped by expert, order (N·A), weights (N, A) → Σ over a of weight · row of slot n·A + a, (N, D): the way back from moe_dispatch."""

from typing import Any

from popcorn.cases import EXPERTS
from popcorn.ops.registry import Op


def _inputs(**dims: int) -> list[Any]:
    import torch

    slots = dims["N"] * dims["A"]
    return [torch.randn(slots, dims["D"]), torch.randperm(slots), torch.rand(dims["N"], dims["A"])]


moe_combine = Op(
    "moe_combine",
    {"rows": "N*A D", "order": "N*A < N", "weights": "N A"},
    out="N D",
    flops=lambda N, A, D: 2 * N * A * D,
    inputs=_inputs,
    fixed=("A",),
    plan=EXPERTS.ordered("N", "A", "D"),
)
