"""linear_cross_entropy: x (…, D), weight (V, D), target (…) → cross entropy of x · weightᵀ: the last layer of a language model and its loss."""

from popcorn.cases import HEAD
from popcorn.ops.registry import Op

linear_cross_entropy = Op(
    "linear_cross_entropy",
    {"x": "... D", "weight": "V D", "target": "... < V"},
    out="",
    flops=lambda R, D, V: 2 * R * D * V + 4 * R * V,
    plan=HEAD,
)
