"""While the reference is timed, nothing of the candidate's burns processor time: read by the parent from the kernel's own accounts.

Catches: helpers that slow the reference down (44, 57), work that goes on after a call returned (2, 3), in threads and in descendants of any
session or group.
On a GPU, where a process at rest may have left work in the queue: the reference is timed again when the candidate is gone.
Does not catch: less than a tenth of one core; a sixth of the reference's time on a GPU. Idle pools of threads and processes are fine.
"""

from popcorn.verify.defences.finding import Finding

BY = "check"
ENFORCED_IN = "popcorn.worker.launch, popcorn.worker.census"


def find(cpu_s: float, wall_s: float) -> Finding | None:
    """Processor seconds of the candidate's tree over the wall seconds in which it was asked nothing."""
    if cpu_s <= max(0.01, 0.1 * wall_s):
        return None
    return Finding("cheated", f"its processes used {cpu_s:.3f} s of processor time in {wall_s:.3f} s in which nothing was asked of them")


def find_slowed(ratio: float) -> Finding | None:
    """`ratio` is the reference's time beside the candidate's process over its time without it, in the median launch."""
    if ratio <= 1.2:
        return None
    return Finding("cheated", f"the reference takes {ratio:.2f} times as long while the candidate's process is there")
