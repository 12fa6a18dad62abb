"""softmax: x (…, D) → exp(x − max) / Σ exp(x − max), over the last size."""

from popcorn.cases import NORM
from popcorn.ops.registry import Op

softmax = Op("softmax", {"x": "... D"}, out="... D", flops=lambda R, D: 5 * R * D, plan=NORM)
