"""kl_div: log_q, log_p (…, V), logs of probabilities → mean over rows of Σ p (log p − log q): distillation's loss."""

from popcorn.cases import VOCABULARY
from popcorn.ops.registry import Op

kl_div = Op("kl_div", {"log_q": "... V", "log_p": "... V"}, out="", flops=lambda R, V: 4 * R * V, plan=VOCABULARY)
