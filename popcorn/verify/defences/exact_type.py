"""Every output, in trials and in timed calls, is a plain `torch.Tensor` with storage of its own.

Catches: lazy tensor subclasses that do the work when somebody looks (catalogue 4), containers and objects with `__torch_function__` (5).
Does not catch: a plain tensor whose memory somebody fills later; `resting` and `truth` do.
"""

from popcorn.verify.defences.finding import Finding, first

BY = "check"
ENFORCED_IN = "popcorn.worker.judging, popcorn.worker.launch"


def find(alien: object) -> Finding | None:
    """`alien` is the type of a leaf that is no plain tensor, as it arrived; None where there is none."""
    name = first(alien)
    if name is None:
        return None
    return Finding("cheated", f"an output is a {name}, not a plain torch.Tensor: its values could be made when they are read")
