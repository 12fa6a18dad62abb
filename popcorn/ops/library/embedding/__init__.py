"""embedding: index (…) in [0, V), weight (V, D) → rows of the weight, (…, D)."""

from popcorn.cases import TABLE
from popcorn.ops.registry import Op

embedding = Op(
    "embedding",
    {"index": "... < V", "weight": "V D"},
    out="... D",
    min_bytes=lambda R, V, D, itemsize: (min(R, V) + R) * D * itemsize + 8 * R,
    workspace=lambda R, V, D: V * D,
    plan=TABLE,
)
