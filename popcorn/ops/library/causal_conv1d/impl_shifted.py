"""A causal convolution as W shifted products: the general convolution's set-up is larger than the work. Plain torch, any device. Needs torch."""

import torch
from torch import Tensor

from popcorn.ops.calls import needs

accepts = needs(precisions=("float64", "float32"), W=(1, 16))


def run(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """As the reference."""
    width, times = weight.shape[1], x.shape[2]
    padded = torch.nn.functional.pad(x, (width - 1, 0))
    total = torch.addcmul(bias[:, None], padded[..., :times], weight[:, 0:1])
    for i in range(1, width):
        total = torch.addcmul(total, padded[..., i : i + times], weight[:, i : i + 1])
    return torch.nn.functional.silu(total)
