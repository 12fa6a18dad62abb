"""geglu: gate, up (…, D) → gelu(gate) · up, the tanh form of GELU. Shazeer, GLU Variants Improve Transformer, 2020."""

from popcorn.cases import GATED
from popcorn.ops.registry import Op

geglu = Op("geglu", {"gate": "... D", "up": "... D"}, out="... D", flops=lambda R, D: 6 * R * D, plan=GATED)
