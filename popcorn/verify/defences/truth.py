"""Values are held against the reference in float64, in the oracle, with a bound that follows the reference's own error.

Catches: lower precision inside (31), wrong tails (32), a few wrong elements (33), loose tolerances (34), constants on small outputs (28), NaN as a
wildcard (12), patched comparisons (9): largest, 99.9th percentile and mean must each hold, relative to max(rms, |truth|).
Does not catch: errors below the bound.
"""

from popcorn.schema.comparison import OutputErrors
from popcorn.verify.defences.finding import Finding
from popcorn.verify.judge import judge_values

BY = "check"
ENFORCED_IN = "popcorn.worker.judging, popcorn.worker.launch"


def find(errors: OutputErrors, floor: float) -> Finding | None:
    """Errors of one output."""
    failure = judge_values(errors, floor)
    return None if failure is None else Finding(failure.outcome, failure.reason)
