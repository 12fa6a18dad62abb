"""Self-attention by FlashAttention-3, for Hopper. Needs torch."""

from flash_attn_interface import flash_attn_func
from torch import Tensor

from popcorn.ops.borrowed import aligned
from popcorn.ops.calls import needs

LANGUAGE = "cuda"

MULTIPLES = {"K": 8}

accepts = needs(device="cuda", precisions=("bfloat16", "float16"), capability=((9, 0), (9, 0)), multiples=MULTIPLES, K=(8, 256))


def run(q: Tensor, k: Tensor, v: Tensor, causal: bool = True) -> Tensor:
    """As the reference. There, heads come after positions; betas of it return the log-sum-exp, too."""
    made = flash_attn_func(*(aligned(t).transpose(1, 2) for t in (q, k, v)), causal=causal)
    return (made[0] if isinstance(made, tuple) else made).transpose(1, 2).contiguous()
