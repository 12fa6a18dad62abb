"""How much is timed: calls of a window, windows of a block, blocks of a launch, launches. Imports no torch; runs in the parent."""

import math

from popcorn.measure.timing import WINDOW_S
from popcorn.measure.turns import Plan
from popcorn.worker.judging import Trials
from popcorn.worker.session import Session
from popcorn.worker.taken import BASELINE, GPU_LAUNCHES, MEMORY, Pace

MAX_PER_WINDOW = 128
_LONGEST_BLOCK_S = 2.0
HOPELESS = 4.0
"""A candidate that takes so many times as long as the reference, with warm caches."""
CUDA_WINDOWS = 5
"""Calls of a block on a GPU. Launches of one kernel differ by more than what twice as many would settle within one."""


def pace_of(session: Session, trials: Trials, cold: dict[str, float], warm: dict[str, float]) -> Pace:
    """Sizes of one block, from seconds of one cold and of one warm call of each side."""
    cuda = session.bench.cuda
    slow, fast = max(cold.values()), min(cold.values())
    per_window = 1 if cuda else max(1, min(MAX_PER_WINDOW, math.ceil(WINDOW_S / max(fast, 1e-7))))
    windows = CUDA_WINDOWS if cuda else 2 if fast > 2 * WINDOW_S else 3
    each = trials.last["input_bytes"] + 2 * trials.last["output_bytes"]
    room = MEMORY["cuda" if cuda else "cpu"]
    while windows > 1 and windows * per_window * each > room:
        windows -= 1
    while per_window > 1 and windows * per_window * each > room:
        per_window //= 2
    if slow > 0.25:
        windows = 1
    # thousands of times slower than its reference: its block, too, must end within a command's time
    while windows > 1 and windows * per_window * slow > _LONGEST_BLOCK_S:
        windows -= 1
    while per_window > 1 and per_window * slow > _LONGEST_BLOCK_S:
        per_window //= 2
    return Pace(per_window, windows, warm[BASELINE], max(warm.values()))


def plan_of(session: Session, pace: Pace, sides: int) -> Plan:
    """At least 20 blocks of each side in all, fewer only where that would take over twice the budget.

    A fresh launch costs a tenth of a second on a CPU, where processes differ more: five launches there, three on a GPU. Three will do for a candidate
    that is so slow that its place is known.
    """
    rounds, blocks = (GPU_LAUNCHES, 8) if session.bench.cuda else (5, 4)
    if pace.slow_s > HOPELESS * pace.once_s:
        rounds = GPU_LAUNCHES
    turn_s = ((sides - 1) * pace.once_s + pace.slow_s) * pace.calls
    while blocks > 2 and rounds * blocks * turn_s > 2 * session.request.budget_s:
        blocks -= 2
    return Plan(min_rounds=rounds, max_rounds=2 * rounds + 2, blocks=blocks, budget_s=session.request.budget_s)
