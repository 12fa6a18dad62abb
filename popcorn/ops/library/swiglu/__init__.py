"""swiglu: gate, up (…, D) → silu(gate) · up. Shazeer, GLU Variants Improve Transformer, 2020."""

from popcorn.cases import GATED
from popcorn.ops.registry import Op

swiglu = Op("swiglu", {"gate": "... D", "up": "... D"}, out="... D", flops=lambda R, D: 6 * R * D, plan=GATED)
