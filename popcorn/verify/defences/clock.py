"""Times come from the candidate's process, where everything can be changed; so they are held against the parent's own clock.

Catches: patched clocks, events, timers and statistics (6, 7, 8), work hidden before or after the window (1, 2, 49), impossible times (56), more
calls in a burst than fit (48). A batch of fresh inputs runs from the moment they can be read to the moment when every output lies in the parent's
hands, or on a CPU in the memory of the stopped process, where the parent reads it. Timed by the parent (on a CPU by the kernel's account of its processes), it cannot take longer than the claimed time and a measured
overhead allow: inputs read once and results handed over, on the reference's side.
Where the two disagree the process is asked again, in pairs with the parent's own timing (worker/disputed.py): a false clock shows in every pair,
a busy machine does not; what is not confirmed then counts as long as the parent found it, so that nobody gains by a doubt.
What no single launch can tell from chance, all of them can: on a CPU nearly every launch of an honest kernel would have to be off in the same way.
On a GPU a call that the host issues more slowly than the device works would hide the device's time behind the host's: there the driver's own
account of a burst says how long the device was busy.
Does not catch: on a CPU a claim within 1.15 × the truth (up to 1.3 × it counts as found, and accuses nobody) plus 0.15 × the batch's overhead, and
within 1.08 × in most launches (1.3 × where a call moves megabytes and its windows scatter by more than that); on a GPU within 1.3 ×, twice that for such a call; half as many calls
again in a burst as fit.
"""

import math
import statistics

from popcorn.units import show_time
from popcorn.verify.defences.finding import Finding

BY = "check"
ENFORCED_IN = "popcorn.worker.launch, popcorn.worker.row, popcorn.worker.disputed, popcorn.worker.counting"

SLACK = 1.3
FIRM = 1.15
"""Where nothing is handed over a batch is as exact as a window: a claim beyond this counts as long as the parent found it, and accuses nobody."""
IN_MOST = 1.08
"""What an honest kernel's batches show in most launches, generously."""
OVERHEAD_SLACK = 1.15
_LOOP_S = 2e-6
"""The loop around a call in a row or in a batch, generously."""
WARMER = 4.0
"""On a GPU a call with cold caches takes at most so many times as long as one of many in a row: twice, where it reads memory and not L2; more, where it
waits for a host whose caches are cold, too."""
DOUBTED = 1.1
"""Beyond so many times the claimed time the driver's account counts, without accusing anybody."""
_GAP_S = 1e-6
"""Around a kernel the driver counts the device as busy, and between two of one call."""
_AT_ONCE = 2
_STUDENT = (318.3, 22.33, 10.21, 7.173, 5.893, 5.208, 4.785)
"""Student's t that is passed once in a thousand, for 2, 3, … 8 values."""
STEP_S = 1e-3
"""A reply takes this long to arrive on a busy machine."""
PRESENT_STEP_S = 3e-4
"""The same where the quickest of several counts and nothing is handed over with it."""


def find(block: tuple[float, float] | None = None, times: object = None, most: int = 0) -> Finding | None:
    """`block` is (claimed, parent's) seconds of one block; `times` the values reported, at most `most` of them."""
    if block is not None:
        claimed_s, wall_s = block
        if claimed_s > wall_s * 1.05 + STEP_S:
            return Finding("cheated", f"the block took {wall_s:.6f} s by the parent's clock and claims {claimed_s:.6f} s")
        return None
    if isinstance(times, list) and 1 <= len(times) <= most and all(type(t) in (int, float) and 0 < t < 1e6 for t in times):
        return None
    return Finding("cheated", f"the times of a block are not possible: {str(times)[:200]}")


def find_in_batch(
    mine_s: float, claimed_s: float, overhead_s: float, calls: int, reference: tuple[float, float] | None = None, step_s: float = STEP_S,
    slack: float = SLACK,
) -> Finding | None:  # fmt: skip
    """Seconds a call of a batch by the parent, as claimed, and what a batch costs without its calls.

    `reference` is (parent's, claimed) seconds a call of the reference's own batch: in a batch a call finds colder caches than in a window, and
    an honest side shows by how much.
    """
    factor, extra_s = 1.0, 0.0
    if reference is not None:
        theirs_s, own_s = reference
        extra_s = max(0.0, theirs_s - overhead_s - own_s)
        factor = max(1.0, (theirs_s - overhead_s) / own_s)
    if mine_s <= max(claimed_s * factor, claimed_s + extra_s) * slack + batch_slack_s(overhead_s, calls, step_s):
        return None
    text = f"{show_time(max(0.0, mine_s - overhead_s))} a call by the parent's clock, {show_time(claimed_s)} by the candidate's process"
    return Finding("cheated", text)


def batch_slack_s(overhead_s: float, calls: int, step_s: float = STEP_S) -> float:
    """Seconds a call that a batch may take beside its calls; the loop around them is in `overhead_s`."""
    return overhead_s * OVERHEAD_SLACK + step_s / calls


def over_claimed(parent_s: float, claimed_s: float) -> float:
    """The parent's seconds a call of a batch over the claimed ones of a window."""
    return max(0.0, parent_s) / (claimed_s + _LOOP_S)


def short_by(ratios: list[float]) -> float:
    """By what factor a side's claims fall short in nearly all launches: the least of three or four such ratios, from five on the second; 1 for fewer.

    Single ratios of honest kernels lie anywhere between 0.3 and 2, and all five of a busy minute up to 1.2; the second of five that are each the least
    of three is 1.05 at most (docs/log.md). A median would be off with three unlucky launches, the least lets off who is honest in one of them.
    """
    return sorted(ratios)[min(1, len(ratios) // 5)] if len(ratios) >= 3 else 1.0


def may_be_short(ratios: list[float]) -> bool:
    """Whether these launches leave it open that claims fall short in nearly all."""
    return sum(ratio <= IN_MOST for ratio in ratios) < 2


def find_in_launches(ratios: list[float]) -> Finding | None:
    """Claims that fall short in nearly all launches, each time by less than one launch could tell from chance. Accuses nobody: they are lengthened."""
    if short_by(ratios) <= IN_MOST:
        return None
    return Finding("cheated", f"in nearly all launches a call took {short_by(ratios):.2f} times what was claimed, or more")


def find_in_row(mine_s: float, claimed_s: float) -> Finding | None:
    """Seconds a call of many in a row, of which only the last result is handed over: exact where a batch's overhead would hide a short call."""
    if mine_s <= claimed_s * SLACK + _LOOP_S:
        return None
    return Finding(
        "cheated", f"{show_time(mine_s)} a call in a row by the parent's clock, {show_time(claimed_s)} by the candidate's process"
    )


def find_in_pairs(ratios: list[float], parent_s: float) -> Finding | None:
    """`ratios` are the parent's time over the claimed one, one for each time it was asked again, both taken one right after the other.

    Accused is only whose mean ratio lies above the slack by more than chance allows once in a thousand (Student's t of their logarithms): on a
    machine that others use, now the one, now the other of a pair is slow.
    """
    logs = [math.log(ratio) for ratio in ratios]
    if len(logs) < len(_STUDENT) // 2:
        return None
    mean, error = statistics.fmean(logs), statistics.stdev(logs) / math.sqrt(len(logs))
    if mean - _STUDENT[min(len(logs), len(_STUDENT) + 1) - 2] * error <= math.log(SLACK):
        return None
    text = f"{show_time(parent_s)} a call by the parent's clock, which is {math.exp(mean):.3g} times what the candidate's process claims in {len(logs)} pairs"
    return Finding("cheated", text)


def most_calls(seconds: float, once_s: float, chunk: int) -> int:
    """How many calls a burst holds at most, where one takes `once_s` by its own word."""
    return int(SLACK * 1.15 * seconds / once_s) + chunk + 10


def find_in_burst(calls: object, seconds: float, low_s: float, chunk: int, warmer: float = 1.0) -> Finding | None:
    """More calls than its own measured time allows would make each look cheap. `low_s` is of a call with cold caches; one of a burst may take a
    `warmer`-th of it."""
    if type(calls) is int and 0 < calls < most_calls(seconds, low_s / warmer, chunk):
        return None
    return Finding("cheated", f"{str(calls)[:40]} calls in {seconds} s are claimed, at {show_time(low_s)} a call")


def find_busy(
    share: float | None, seconds: float, calls: int, claimed_s: float, kernels_s: float | None = None, kernels: int | None = None,
    certain: bool = True,
) -> Finding | None:  # fmt: skip
    """The device was busy for `share` of a burst of `calls` calls that lasted `seconds`; `claimed_s` is the cold time of one, longer than a warm one.

    A burst goes at the host's pace, so kernels on several streams that overlap in a call come one after the other there: what counts is then
    `kernels_s`, the sum of them by the candidate's own census, but no more than two at once would explain, and nothing where it is of one kernel.
    Not `certain`: all that an honest call, its kernels one after the other, does not show. That accuses nobody."""
    several = kernels is None or kernels > 1
    allowed_s = max(claimed_s, min(kernels_s or 0.0, _AT_ONCE * claimed_s)) if several else claimed_s
    most_s = SLACK * allowed_s + (1 + several) * _GAP_S if certain else DOUBTED * claimed_s + _GAP_S
    if share is None or share * seconds / calls <= most_s:
        return None
    return Finding(
        "cheated",
        f"the device was busy for {show_time(share * seconds / calls)} a call by the driver's account, {show_time(claimed_s)} are claimed",
    )
