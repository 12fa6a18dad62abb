"""Layer norm by Liger Kernel, in Triton. Needs torch."""

from liger_kernel.transformers import functional
from torch import Tensor

from popcorn.ops.calls import needs

LANGUAGE = "triton"

accepts = needs(device="cuda", precisions=("float32", "bfloat16", "float16"), D=(1, 65536))


def run(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """As the reference; contiguous copies where a tensor is not."""
    return functional.liger_layer_norm(x.contiguous(), weight.contiguous(), bias.contiguous(), eps)
