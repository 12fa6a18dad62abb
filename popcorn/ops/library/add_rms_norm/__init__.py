"""add_rms_norm: x, residual (…, D), weight (D) → (rms_norm(x + residual), x + residual): the seam between two blocks of a transformer."""

from popcorn.cases import NORM
from popcorn.ops.registry import Op

add_rms_norm = Op(
    "add_rms_norm",
    {"x": "... D", "residual": "... D", "weight": "D", "eps": 1e-6},
    out=("... D", "... D"),
    flops=lambda R, D: 5 * R * D,
    plan=NORM,
)
