"""rope: x (…, T, K), cos, sin (T, K) → x · cos + rotate_half(x) · sin. Su et al., RoFormer, 2021, in the layout of Llama."""

from popcorn.cases import ROTARY
from popcorn.ops.registry import Op

rope = Op(
    "rope", {"x": "... T K", "cos": "T K", "sin": "T K"}, out="... T K", flops=lambda R, T, K: 3 * R * T * K, fixed=("K",), plan=ROTARY
)
