"""Self-attention within packed sequences by FlashAttention-3, for Hopper. Needs torch.

The longest sequence is read on the host, so a call waits for what was queued before it.
"""

import torch
from flash_attn_interface import flash_attn_varlen_func
from torch import Tensor

from popcorn.ops.borrowed import aligned
from popcorn.ops.calls import needs

LANGUAGE = "cuda"

MULTIPLES = {"K": 8}

accepts = needs(
    device="cuda", precisions=("bfloat16", "float16"), capability=((9, 0), (9, 0)), multiples=MULTIPLES, K=(8, 256), N=(1, 2**31 - 1)
)


def run(q: Tensor, k: Tensor, v: Tensor, edges: Tensor, causal: bool = True) -> Tensor:
    """As the reference. There, edges are int32, those of queries and of keys; betas of it return the log-sum-exp, too."""
    cuts, longest = edges.to(torch.int32).contiguous(), int(edges.diff().max())
    made = flash_attn_varlen_func(aligned(q), aligned(k), aligned(v), cuts, cuts, longest, longest, causal=causal)
    return (made[0] if isinstance(made, tuple) else made).contiguous()
