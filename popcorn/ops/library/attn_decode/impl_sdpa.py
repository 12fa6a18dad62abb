"""One step of decoding by torch's scaled_dot_product_attention over gathered pages. Needs torch."""

import torch
from torch import Tensor

from popcorn.ops.calls import Answer, Call, Rejected, needs

_usual = needs(precisions=("float64", "float32", "bfloat16", "float16"))


def accepts(call: Call) -> Answer:
    """Without gradients: the reference has them, a step of decoding needs none."""
    return Rejected("is for serving, without gradients") if call.gradient else _usual(call)


def run(q: Tensor, keys: Tensor, values: Tensor, table: Tensor, lengths: Tensor) -> Tensor:
    """As the reference."""
    own_keys, own_values = (t[table].flatten(1, 2).transpose(1, 2) for t in (keys, values))
    inside = (torch.arange(own_keys.shape[2], device=q.device) < lengths[:, None])[:, None, None]
    shared = q.shape[1] != keys.shape[2]
    answer = torch.nn.functional.scaled_dot_product_attention(q.unsqueeze(2), own_keys, own_values, attn_mask=inside, enable_gqa=shared)
    return answer.squeeze(2).contiguous()
