"""selective_log_softmax: logits (…, V), index (…) in [0, V) → log softmax(logits)[index], (…): log-probabilities of tokens, without a log-softmax of all."""

from popcorn.cases import VOCABULARY
from popcorn.ops.registry import Op

selective_log_softmax = Op(
    "selective_log_softmax",
    {"logits": "... V", "index": "... < V"},
    out="...",
    flops=lambda R, V: 4 * R * V,
    plan=VOCABULARY,
)
