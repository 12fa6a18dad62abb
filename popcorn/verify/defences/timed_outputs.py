"""At least one in ten timed outputs, drawn by the parent after the block, is judged as in a trial.

Catches: honest in trials and cheating when timed (22), replays (17, 18, 21, 50), work skipped in some calls.
Does not catch: skipping so rarely that it is worth nothing: a call skipped in a hundred is found in one block of ten.
"""

from popcorn.verify.defences.finding import Finding

BY = "check"
ENFORCED_IN = "popcorn.worker.launch"


def find(failure: Finding | None) -> Finding | None:
    """What `exact_type`, `structure` or `truth` says of a timed output."""
    return failure and Finding(failure.outcome, f"the output of a timed call is wrong: {failure.evidence}")
