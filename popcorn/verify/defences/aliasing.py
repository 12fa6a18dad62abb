"""An output has memory of its own: not an input's, not the last result's.

Catches: a view of an input or of a static buffer that the next call overwrites (26).
Does not catch: a view where the reference itself returns one (then it is allowed); memory that overlaps only in a later call: timed outputs
are judged from copies.
"""

from popcorn.verify.defences.finding import Finding, first

BY = "check"
ENFORCED_IN = "popcorn.worker.judging"


def find(with_input: object, with_last: object, allowed: bool) -> Finding | None:
    """Paths of outputs that share memory with an input, or with the last result."""
    if allowed:
        return None
    if (path := first(with_input)) is not None:
        return Finding("wrong_values", f"{path} shares memory with an input; return a tensor of its own")
    if (path := first(with_last)) is not None:
        text = f"{path} shares memory with the previous call's result, which it overwrites; return a fresh tensor"
        return Finding("wrong_values", text)
    return None
