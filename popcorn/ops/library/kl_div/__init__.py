"""kl_div: log_q, log_p (…, V), logs of probabilities → mean over rows of Σ p (log p − log q): distillation's loss."""

from typing import Any

from popcorn.cases import VOCABULARY
from popcorn.ops.registry import Op


def log_probabilities(R: int, V: int) -> list[Any]:
    """Logs of probabilities, whatever is drawn."""
    import torch

    return [torch.log_softmax(torch.randn(R, V), -1) for _ in range(2)]


kl_div = Op("kl_div", {"log_q": "... V", "log_p": "... V"}, out="", flops=lambda R, V: 4 * R * V, plan=VOCABULARY, inputs=log_probabilities)
