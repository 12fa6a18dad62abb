"""jsd: log_q, log_p (…, V), logs of probabilities → mean over rows of β KL(p‖m) + (1 − β) KL(q‖m), m = β p + (1 − β) q: the generalised Jensen-Shannon divergence of distillation. Agarwal et al., 2024."""

from popcorn.cases import VOCABULARY
from popcorn.ops.library.kl_div import log_probabilities
from popcorn.ops.registry import Op

jsd = Op(
    "jsd",
    {"log_q": "... V", "log_p": "... V", "beta": 0.5},
    out="",
    flops=lambda R, V: 12 * R * V,
    workspace=lambda R, V: 6 * R * V,
    plan=VOCABULARY,
    inputs=log_probabilities,
)
