"""layer_norm: x (…, D), weight, bias (D) → (x − mean) / sqrt(var + eps) · weight + bias. Ba, Kiros and Hinton, 2016."""

from popcorn.cases import NORM
from popcorn.ops.registry import Op

layer_norm = Op("layer_norm", {"x": "... D", "weight": "D", "bias": "D", "eps": 1e-5}, out="... D", flops=lambda R, D: 7 * R * D, plan=NORM)
