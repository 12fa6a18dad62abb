"""Layer norm by QuACK, in CuTe DSL, forward only. Needs torch."""

from quack.rmsnorm import layernorm_fwd
from torch import Tensor

from popcorn.ops.borrowed import aligned, rows
from popcorn.ops.calls import needs

LANGUAGE = "cute"

MULTIPLES = {"D": 8}

accepts = needs(
    device="cuda", precisions=("float32", "bfloat16", "float16"), capability=((9, 0), (12, 1)), multiples=MULTIPLES, backward=False, D=(64, 65536)
)  # fmt: skip


def run(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """As the reference. There, weight and bias are float32 whatever x is."""
    return layernorm_fwd(rows(x), aligned(weight.float()), aligned(bias.float()), eps).reshape(x.shape)
