"""The tree of outputs, their shapes and dtypes are those of the reference, exactly; nothing is broadcast or cut short.

Catches: a scalar or a broadcastable shape, fewer outputs (27), another dtype.
Does not catch: other strides; values are compared by index, so they do not matter.
"""

from popcorn.schema.verdict import Outcome
from popcorn.verify.defences.finding import Finding

BY = "check"
ENFORCED_IN = "popcorn.worker.oracle"


def find(difference: tuple[Outcome, str] | None) -> Finding | None:
    """The oracle's first difference in structure."""
    return None if difference is None else Finding(difference[0], difference[1])
