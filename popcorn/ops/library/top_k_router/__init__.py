"""top_k_router: logits (…, E) → weights (…, k) and experts (…, k): the k largest logits of a row, largest first, and the softmax over them."""

from popcorn.cases import ROUTER
from popcorn.ops.registry import Op

top_k_router = Op(
    "top_k_router",
    {"logits": "... E", "k": 2},
    out=("... k", "... k < E"),
    flops=lambda R, E: R * E,
    plan=ROUTER,
)
