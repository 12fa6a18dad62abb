"""l2_norm: x (…, D) → x / max(‖x‖₂, eps), over the last size."""

from popcorn.cases import NORM
from popcorn.ops.registry import Op

l2_norm = Op("l2_norm", {"x": "... D", "eps": 1e-12}, out="... D", flops=lambda R, D: 3 * R * D, plan=NORM)
