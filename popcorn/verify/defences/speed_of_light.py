"""No call is faster than the declared bytes and flops need at this machine's measured ceilings.

Catches: any time that physics forbids, whatever the trick (1, 46, 51): the last line of defence.
Does not catch: tricks that stay above the floor; problems that declare no bytes, or whose data fits into a cache.
"""

from popcorn.measure.roofline import under_the_floor
from popcorn.units import show_time
from popcorn.verify.defences.finding import Finding

BY = "check"
ENFORCED_IN = "popcorn.worker.counting"


def find(time_s: float, floor_s: float | None, large: bool) -> Finding | None:
    """`large`: the data cannot have stayed in a cache."""
    if not large or floor_s is None or not under_the_floor(time_s, floor_s):
        return None
    needed = show_time(floor_s)
    return Finding("cheated", f"{show_time(time_s)} a call is under the {needed} that this machine needs for the declared work")
