"""Self-attention within packed sequences, one call of torch's scaled_dot_product_attention a sequence. Needs torch.

The lengths are read on the host, so a call on a GPU waits for what was queued before it.
"""

import itertools

import torch
from torch import Tensor

from popcorn.ops.calls import needs

accepts = needs(precisions=("float64", "float32", "bfloat16", "float16"))


def run(q: Tensor, k: Tensor, v: Tensor, edges: Tensor, causal: bool = True) -> Tensor:
    """As the reference."""
    cuts = edges.tolist()
    shared = q.shape[1] != k.shape[1]
    pieces = []
    for first, end in itertools.pairwise(cuts):
        if end > first:
            mine, keys, values = (t[first:end].transpose(0, 1)[None] for t in (q, k, v))
            answer = torch.nn.functional.scaled_dot_product_attention(mine, keys, values, is_causal=causal, enable_gqa=shared)
            pieces.append(answer[0].transpose(0, 1))
    return torch.cat(pieces).contiguous()
