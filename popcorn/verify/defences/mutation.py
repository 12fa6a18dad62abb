"""Inputs are the same after a call as before it.

Catches: inputs turned into something cheaper for the next call (25), zeroed so that a trivial answer is right (24).
Does not catch: nothing is lost where it is deceived: inputs are private copies, made afresh for every timed call, and nobody else reads them.
"""

from popcorn.verify.defences.finding import Finding, first

BY = "check"
ENFORCED_IN = "popcorn.worker.judging"


def find(mutated: object) -> Finding | None:
    """`mutated` lists the inputs that changed, by number; incoming gradients are counted on."""
    which = first(mutated)
    return None if which is None else Finding("mutated_inputs", f"input {which} was changed by the call; work on a copy")
