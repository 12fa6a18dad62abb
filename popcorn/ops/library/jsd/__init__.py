"""jsd: log_q, log_p (…, V), logs of probabilities → mean over rows of β KL(p‖m) + (1 − β) KL(q‖m), m = β p + (1 − β) q: the generalised Jensen-Shannon divergence of distillation. Agarwal et al., 2024."""

from typing import Any

from popcorn.cases import VOCABULARY
from popcorn.ops.registry import Op


def _inputs(R: int, V: int) -> list[Any]:
    """Logs of probabilities, whatever is drawn."""
    import torch

    return [torch.log_softmax(torch.randn(R, V), -1) for _ in range(2)]


jsd = Op(
    "jsd",
    {"log_q": "... V", "log_p": "... V", "beta": 0.5},
    out="",
    flops=lambda R, V: 12 * R * V,
    workspace=lambda R, V: 6 * R * V,
    plan=VOCABULARY,
    inputs=_inputs,
)
