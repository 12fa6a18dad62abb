"""silu(gate) · up by flash-linear-attention, in Triton. Needs torch."""

from fla.modules.activations import swiglu
from torch import Tensor

from popcorn.ops.borrowed import aligned
from popcorn.ops.calls import needs

LANGUAGE = "triton"

accepts = needs(device="cuda", precisions=("float32", "bfloat16", "float16"))


def run(gate: Tensor, up: Tensor) -> Tensor:
    """As the reference; contiguous copies where a tensor is not."""
    return swiglu(aligned(gate), aligned(up))
