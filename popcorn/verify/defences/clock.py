"""Times come from the candidate's process, where everything can be changed; so they are held against the parent's own clock.

Catches: patched clocks, events, timers and statistics (6, 7, 8), work hidden before or after the window (1, 2, 49), impossible times (56), more
calls in a burst than fit (48). A batch of fresh inputs runs from the moment they can be read to the moment when every output lies in the parent's
hands. Timed by the parent (on a CPU by the kernel's account of its processes), it cannot take longer than the claimed time and a measured
overhead allow: inputs read once and results handed over, on the reference's side.
Does not catch: a claim within 1.3 × the truth plus 0.15 × the batch's overhead. On a GPU the host's time to issue a call is the candidate's word.
"""

from popcorn.verify.defences.finding import Finding

BY = "check"
ENFORCED_IN = "popcorn.worker.comparing, popcorn.worker.counting"

SLACK = 1.3
OVERHEAD_SLACK = 1.15
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


def find_in_burst(calls: object, seconds: float, low_s: float, chunk: int) -> Finding | None:
    """More calls than its own measured time allows would make each look cheap in energy."""
    if type(calls) is int and 0 < calls < SLACK * 1.15 * seconds / low_s + chunk + 10:
        return None
    return Finding("cheated", f"{str(calls)[:40]} calls in {seconds} s are claimed, at {low_s:.3g} s a call")
