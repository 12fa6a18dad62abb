"""moe_dispatch: x (N, D), index (N, A) → rows grouped by expert (N·A, D), the slot each came from (N·A), rows of each expert (experts)."""

from typing import Any

from popcorn.cases import EXPERTS
from popcorn.ops.registry import Op

EXPERTS_DRAWN = 8
"""As many as the default of `experts`."""


def _inputs(**dims: int) -> list[Any]:
    import torch

    return [torch.randn(dims["N"], dims["D"]), torch.randint(EXPERTS_DRAWN, (dims["N"], dims["A"]))]


moe_dispatch = Op(
    "moe_dispatch",
    {"x": "N D", "index": "N A < 2147483648", "experts": 8},
    out=("N*A D", "N*A < N", "experts < N"),
    inputs=_inputs,
    fixed=("A",),
    plan=EXPERTS,
)
