"""While the reference is timed, nothing of the candidate's burns processor time: read by the parent from the kernel's own accounts.

Catches: helpers that slow the reference down (44, 57), work that goes on after a call returned (2, 3), in threads and in descendants of any
session or group.
On a GPU, where a process at rest may have left work in the queue: the reference is timed again when the candidate is gone.
Does not catch: less than a tenth of one core; on a GPU a sixth of the reference's time, and half a microsecond more, for which nobody is accused:
the comparison claims nothing then. Idle pools of threads and processes are fine.
"""

import statistics
from collections.abc import Sequence

from popcorn.verify.defences.finding import Finding

BY = "check"
ENFORCED_IN = "popcorn.worker.launch, popcorn.worker.census"

SLOWED = 1.2
UNSURE_S = 0.5e-6
"""By which two medians of the same short kernel may differ in one process: an honest one of 2 µs was told 1.20 times as long (docs/log.md)."""


def find(cpu_s: float, wall_s: float) -> Finding | None:
    """Processor seconds of the candidate's tree over the wall seconds in which it was asked nothing."""
    if cpu_s <= max(0.01, 0.1 * wall_s):
        return None
    return Finding("cheated", f"its processes used {cpu_s:.3f} s of processor time in {wall_s:.3f} s in which nothing was asked of them")


def find_slowed(launches: Sequence[tuple[float, float]], unsure_s: float = UNSURE_S) -> Finding | None:
    """Seconds of the reference beside the candidate's process and without it, of each launch."""
    ratio = statistics.median(beside_s / alone_s for beside_s, alone_s in launches)
    if statistics.median((beside_s - unsure_s) / alone_s for beside_s, alone_s in launches) <= SLOWED:
        return None
    return Finding("cheated", f"the reference takes {ratio:.2f} times as long while the candidate's process is there")
