"""logsumexp: x (…, D) → log Σ exp(x) over the last size, (…)."""

from popcorn.cases import NORM
from popcorn.ops.registry import Op

logsumexp = Op("logsumexp", {"x": "... D"}, out="...", flops=lambda R, D: 4 * R * D, plan=NORM)
