"""While the reference is timed, nothing of the candidate's burns processor time: read by the parent from the kernel's own accounts.

Catches: helpers that slow the reference down (44, 57), work that goes on after a call returned (2, 3), in threads and in descendants of any
session or group.
On a GPU, where a process at rest may have left work in the queue: the reference is timed again when the candidate is gone.
Where the reference waits for its host (short kernels, calls that synchronise), the host may be the slow one: nobody is accused then, and its time without
the candidate counts. Does not catch: less than a tenth of one core; a sixth of the reference's time on a GPU. Idle pools of threads and processes are fine.
"""

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from popcorn.verify.defences.finding import Finding

BY = "check"
ENFORCED_IN = "popcorn.worker.launch, popcorn.worker.census"

SLOWED = 1.2


class Slowed(NamedTuple):
    """The reference in one launch on a GPU."""

    beside_s: float
    """A call, while the candidate's process is there."""
    alone_s: float
    host_s: float
    """What the host takes to issue a call."""


def find(cpu_s: float, wall_s: float) -> Finding | None:
    """Processor seconds of the candidate's tree over the wall seconds in which it was asked nothing."""
    if cpu_s <= max(0.01, 0.1 * wall_s):
        return None
    return Finding("cheated", f"its processes used {cpu_s:.3f} s of processor time in {wall_s:.3f} s in which nothing was asked of them")


def find_slowed(launches: Sequence[Slowed], certain: bool = True) -> Finding | None:
    """A reference that is slower beside the candidate in the median launch. `certain`: where the host cannot be the reason."""
    ratio = statistics.median(one.beside_s / one.alone_s for one in launches)
    if ratio <= SLOWED or (certain and statistics.median(one.host_s / one.alone_s for one in launches) >= 1):
        return None
    return Finding("cheated", f"the reference takes {ratio:.2f} times as long while the candidate's process is there")
