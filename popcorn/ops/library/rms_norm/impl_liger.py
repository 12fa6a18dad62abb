"""RMS norm by Liger Kernel, in Triton. Needs torch."""

from liger_kernel.transformers import functional
from torch import Tensor

from popcorn.ops.calls import needs

LANGUAGE = "triton"

accepts = needs(device="cuda", precisions=("float32", "bfloat16", "float16"), D=(1, 65536))


def run(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    """As the reference; contiguous copies where a tensor is not."""
    return functional.liger_rms_norm(x.contiguous(), weight.contiguous(), eps, in_place=False)
