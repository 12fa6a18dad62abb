"""gelu(gate) · up by Liger Kernel, in Triton. Needs torch.

Liger's backward kernel writes both gradients over the inputs that it is given, which are the caller's own: here it is given copies, made when a
backward pass comes and freed as its gradients. That moves 9·R·D elements where 5·R·D would do, and a result may go backward more than once.
"""

from liger_kernel.ops.geglu import geglu_backward, geglu_forward
from torch import Tensor

from popcorn.ops.borrowed import spared
from popcorn.ops.calls import needs

LANGUAGE = "triton"

accepts = needs(device="cuda", precisions=("float32", "bfloat16", "float16"), D=(1, 65536))


def run(gate: Tensor, up: Tensor) -> Tensor:
    """As the reference; contiguous copies where a tensor is not."""
    return spared(geglu_forward, geglu_backward, gate, up)
