"""A causal convolution of each channel by flash-linear-attention, in Triton. Needs torch."""

from fla.modules.causal_conv1d import causal_conv1d
from torch import Tensor

from popcorn.ops.borrowed import aligned
from popcorn.ops.calls import needs

LANGUAGE = "triton"

accepts = needs(device="cuda", precisions=("float32", "bfloat16", "float16"), W=(2, 4))


def run(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """As the reference. There, channels come last."""
    made, _ = causal_conv1d(aligned(x.transpose(1, 2)), aligned(weight), aligned(bias), activation="silu")
    return made.transpose(1, 2).contiguous()
