"""Self-attention by cuDNN, through torch's scaled_dot_product_attention with that backend and no other. Needs torch."""

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from popcorn.ops.borrowed import aligned
from popcorn.ops.calls import Answer, Call, Rejected, needs

LANGUAGE = "cuda"

MULTIPLES = {"K": 8}

_usual = needs(
    device="cuda", precisions=("bfloat16", "float16"), capability=((8, 0), (12, 1)), multiples=MULTIPLES, K=(8, 128), T=(2, 2**31 - 1)
)


def accepts(call: Call) -> Answer:
    """What torch lets cuDNN do, and a cuDNN of 9 or later in it."""
    answer = _usual(call)
    if answer and (torch.backends.cudnn.version() or 0) < 90000:
        return Rejected("needs a torch with cuDNN 9")
    if answer and torch.are_deterministic_algorithms_enabled():
        return Rejected("is not deterministic, and torch.use_deterministic_algorithms is on")
    return answer


def run(q: Tensor, k: Tensor, v: Tensor, causal: bool = True) -> Tensor:
    """As the reference."""
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        made = torch.nn.functional.scaled_dot_product_attention(
            aligned(q), aligned(k), aligned(v), is_causal=causal, enable_gqa=q.shape[1] != k.shape[1]
        )
    if made.requires_grad:
        # an incoming gradient of stride 0, that of a sum say, gave gradients of 1e28 (torch 2.11, H200)
        made.register_hook(lambda slope: slope.contiguous())
    return made.contiguous()
