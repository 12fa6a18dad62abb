"""Causal linear attention a chunk of positions at a time, with the sum of the past as a state: T · CHUNK products, not T². Plain torch. Needs torch."""

import torch
from torch import Tensor

from popcorn.ops.calls import needs

CHUNK = 64

accepts = needs(precisions=("float64", "float32", "bfloat16", "float16"))


def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """As the reference. The state is kept in float32, or float64 for float64 data."""
    b, h, times, width = q.shape
    pad = -times % CHUNK
    chunked = [torch.nn.functional.pad(t, (0, 0, 0, pad)).reshape(b, h, -1, CHUNK, t.shape[-1]) for t in (q * width**-0.5, k, v)]
    queries, keys, values = chunked
    wide = torch.float64 if q.dtype == torch.float64 else torch.float32
    own = keys.transpose(-1, -2).to(wide) @ values.to(wide)
    before = own.cumsum(2) - own
    here = (queries @ keys.transpose(-1, -2)).tril().to(wide) @ values.to(wide)
    return (queries.to(wide) @ before + here).to(q.dtype).reshape(b, h, -1, v.shape[-1])[:, :, :times].contiguous()
