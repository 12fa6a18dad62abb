"""gelu: x (…, D) → x Φ(x) in the tanh form. Hendrycks and Gimpel, Gaussian Error Linear Units, 2016."""

from popcorn.cases import GATED
from popcorn.ops.registry import Op

gelu = Op("gelu", {"x": "... D"}, out="... D", flops=lambda R, D: 8 * R * D, plan=GATED)
