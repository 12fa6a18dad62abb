"""Times come from the candidate's process, where everything can be changed; so they are held against the parent's own clock.

Catches: patched clocks, events, timers and statistics (6, 7, 8), work hidden before or after the window (1, 2, 49), impossible times (56), more
calls in a burst than fit (48). A batch of fresh inputs runs from the moment they can be read to the moment when every output lies in the parent's
hands. Timed by the parent (on a CPU by the kernel's account of its processes), it cannot take longer than the claimed time and a measured
overhead allow: inputs read once and results handed over, on the reference's side.
On a GPU a call that the host issues more slowly than the device works would hide the device's time behind the host's: there the driver's own
account of a burst says how long the device was busy.
Does not catch: a claim within 1.3 × the truth plus 0.15 × the batch's overhead; twice that for such a call on a GPU.
"""

from popcorn.verify.defences.finding import Finding

BY = "check"
ENFORCED_IN = "popcorn.worker.comparing, popcorn.worker.counting"

SLACK = 1.3
OVERHEAD_SLACK = 1.15
_LOOP_S = 2e-6
"""The loop around a call in a row, generously."""
_GAP_S = 2e-6
"""Between two kernels of one call the driver counts the device as busy."""
_STEP_S = 1e-3
"""A reply takes this long to arrive on a busy machine."""


def find(block: tuple[float, float] | None = None, times: object = None, most: int = 0) -> Finding | None:
    """`block` is (claimed, parent's) seconds of one block; `times` the values reported, at most `most` of them."""
    if block is not None:
        claimed_s, wall_s = block
        if claimed_s > wall_s * 1.05 + _STEP_S:
            return Finding("cheated", f"the block took {wall_s:.6f} s by the parent's clock and claims {claimed_s:.6f} s")
        return None
    if isinstance(times, list) and 1 <= len(times) <= most and all(type(t) in (int, float) and 0 < t < 1e6 for t in times):
        return None
    return Finding("cheated", f"the times of a block are not possible: {str(times)[:200]}")


def find_in_batch(
    mine_s: float, claimed_s: float, overhead_s: float, calls: int, reference: tuple[float, float] | None = None
) -> Finding | None:
    """Seconds a call of a batch by the parent, as claimed, and what a batch costs without its calls.

    `reference` is (parent's, claimed) seconds a call of the reference's own batch: in a batch a call finds colder caches than in a window, and
    an honest side shows by how much.
    """
    factor, extra_s = 1.0, 0.0
    if reference is not None:
        theirs_s, own_s = reference
        extra_s = max(0.0, theirs_s - overhead_s - own_s)
        factor = max(1.0, (theirs_s - overhead_s) / own_s)
    allowed_s = max(claimed_s * factor, claimed_s + extra_s) * SLACK + overhead_s * OVERHEAD_SLACK
    if mine_s <= allowed_s + 2e-6 + _STEP_S / calls:
        return None
    text = f"{max(0.0, mine_s - overhead_s):.3g} s a call by the parent's clock, {claimed_s:.3g} s by the candidate's process"
    return Finding("cheated", text)


def find_in_row(mine_s: float, claimed_s: float, busy: float = 1.0) -> Finding | None:
    """Seconds a call of many in a row, of which only the last result is handed over: exact where a batch's overhead would hide a short call.

    `busy` is the factor by which the reference's own row took longer than its cold time.
    """
    if mine_s <= (claimed_s * SLACK + _LOOP_S) * max(1.0, busy):
        return None
    return Finding("cheated", f"{mine_s:.3g} s a call in a row by the parent's clock, {claimed_s:.3g} s by the candidate's process")


def find_in_burst(calls: object, seconds: float, low_s: float, chunk: int) -> Finding | None:
    """More calls than its own measured times (the device's, and the host's to issue one) allow would make each look cheap."""
    if type(calls) is int and 0 < calls < SLACK * 1.15 * seconds / low_s + chunk + 10:
        return None
    return Finding("cheated", f"{str(calls)[:40]} calls in {seconds} s are claimed, at {low_s:.3g} s a call")


def find_busy(share: float | None, seconds: float, calls: int, claimed_s: float) -> Finding | None:
    """The device was busy for `share` of a burst of `calls` calls that lasted `seconds`; `claimed_s` is the cold time of one, longer than a warm one."""
    if share is None or share * seconds / calls <= SLACK * claimed_s + _GAP_S:
        return None
    return Finding(
        "cheated", f"the device was busy for {share * seconds / calls:.3g} s a call by the driver's account, {claimed_s:.3g} s are claimed"
    )
