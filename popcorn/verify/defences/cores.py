"""A candidate is timed on as many cores as the reference: read by the parent from the kernel's own accounts.

Catches: native threads or child processes that fled the cores both sides are pinned to (3), more threads for itself (45).
Does not catch: a quarter of a core. Threads that stay on the given cores are fine, however many.
"""

from popcorn.verify.defences.finding import Finding

BY = "check"
ENFORCED_IN = "popcorn.worker.launch, popcorn.worker.census"


def find(cpu_s: float, wall_s: float, threads: int) -> Finding | None:
    """Processor seconds of the candidate's tree over the wall seconds of its own blocks."""
    if cpu_s <= wall_s * (threads + 0.25) + 0.05:
        return None
    return Finding("cheated", f"it used {cpu_s / wall_s:.1f} cores while it was timed; both sides have {threads}")
