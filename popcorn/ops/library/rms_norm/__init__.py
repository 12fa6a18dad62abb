"""rms_norm: x (…, D), weight (D) → x / sqrt(mean(x²) + eps) · weight. Zhang and Sennrich, Root Mean Square Layer Normalization, 2019."""

from popcorn.cases import NORM
from popcorn.ops.registry import Op

rms_norm = Op("rms_norm", {"x": "... D", "weight": "D", "eps": 1e-6}, out="... D", flops=lambda R, D: 4 * R * D, plan=NORM)
