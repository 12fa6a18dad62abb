"""The same inputs twice, with different garbage in fresh memory, give the same result.

Catches: reads of memory that nobody wrote (53), buffers that hold somebody's old result (23), races (54), outputs of chance.
Does not catch: a race that shows once in many runs; garbage in memory that the candidate takes from the system itself.
"""

from popcorn.schema.comparison import OutputErrors
from popcorn.verify.defences.finding import Finding
from popcorn.verify.judge import judge_repeat

BY = "check"
ENFORCED_IN = "popcorn.worker.judging"


def find(errors: OutputErrors, floor: float) -> Finding | None:
    """Errors of one output with the difference between two runs."""
    failure = judge_repeat(errors, floor)
    return None if failure is None else Finding(failure.outcome, failure.reason)
