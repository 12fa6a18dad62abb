"""An output has memory of its own: not an input's, not the last result's.

Catches: a view of an input or of a static buffer that the next call overwrites (26); on a CPU also a view of an input that is handed out in timed calls alone:
the kernel says where the inputs of the parent's batch lie.
Does not catch: a view in an output that the reference itself returns as one (it is allowed there); on a GPU, memory that overlaps only in a later call: timed
outputs are judged from copies.
"""

from collections.abc import Collection

from popcorn.verify.defences.finding import Finding, first

BY = "check"
ENFORCED_IN = "popcorn.worker.judging, popcorn.worker.batch"


def find(with_input: object, with_last: object, allowed: Collection[str]) -> Finding | None:
    """Paths of outputs that share memory with an input, or with the last result; `allowed` are those that the reference returns as views."""
    if (path := first(_without(with_input, allowed))) is not None:
        return Finding("wrong_values", f"{path} shares memory with an input; return a tensor of its own")
    if (path := first(_without(with_last, allowed))) is not None:
        text = (
            f"{path} shares memory with the previous call's result, which this call changed or handed out once more; return a fresh tensor"
        )
        return Finding("wrong_values", text)
    return None


def _without(paths: object, allowed: Collection[str]) -> object:
    return [path for path in paths if path not in allowed] if isinstance(paths, list) else paths
