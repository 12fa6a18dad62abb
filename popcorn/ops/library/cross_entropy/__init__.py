"""cross_entropy: logits (…, V), target (…) of whole numbers → mean of logsumexp(logits) − logits[target] over rows not marked −100."""

from popcorn.cases import VOCABULARY
from popcorn.ops.registry import Op

cross_entropy = Op("cross_entropy", {"logits": "... V", "target": "... < V"}, out="", flops=lambda R, V: 4 * R * V, plan=VOCABULARY)
