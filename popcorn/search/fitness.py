"""How good is a program: its outcome first, then the lower confidence bound of the log speedup. Never a sum of the two.

A sum lets a lucky timing outweigh a wrong result; a mean lets a noisy one win. Judgements of the same text are pooled, so that an elite
that was lucky once falls back to what it is.
"""

import math
from collections.abc import Sequence

from popcorn.search.program import Judged, Program

Fitness = tuple[int, float]
CORRECT = 6

_LADDER = {
    "cheated": 0, "no_kernel": 0, "compile_error": 1, "rejected": 1, "crash": 2, "timeout": 2, "out_of_memory": 2, "runtime_error": 2,
    "wrong_shape": 3, "wrong_dtype": 3, "mutated_inputs": 4, "nonfinite": 4, "not_deterministic": 4, "wrong_values": 5, "correct": CORRECT,
}  # fmt: skip
"""How far it came; `harness_error` and `invalid_reference` are nobody's failure and rank lowest, without a place anywhere."""


def rank(outcome: str) -> int:
    """0 to 6."""
    return _LADDER.get(outcome, 0)


def pooled(measures: Sequence[Judged]) -> tuple[float, float] | None:
    """(log speedup, half-width of its 95 % interval) over all judgements; None where none was timed.

    The half-width is the larger of what the intervals say and what the judgements differ by: two runs that disagree are not made
    sure by being narrow each.
    """
    timed = [one for one in measures if one.speedup is not None and one.speedup > 0]
    if not timed:
        return None
    logs = [math.log(one.speedup or 1.0) for one in timed]
    widths = [_half_width(one) for one in timed]
    mean = sum(logs) / len(logs)
    within = math.sqrt(sum(width * width for width in widths)) / len(widths)
    if len(logs) == 1:
        return mean, within
    spread = math.sqrt(sum((value - mean) ** 2 for value in logs) / (len(logs) - 1))
    return mean, max(within, 1.96 * spread / math.sqrt(len(logs)))


def bound(measures: Sequence[Judged]) -> float:
    """The lower confidence bound of the log speedup; over several devices the mean of theirs (a geometric mean of speedups)."""
    devices = sorted({name for one in measures for name in one.by_device})
    if devices:
        return sum(bound([one.by_device[name] for one in measures if name in one.by_device]) for name in devices) / len(devices)
    known = pooled(measures)
    return -math.inf if known is None else known[0] - known[1]


def fitness(program: Program) -> Fitness:
    """Comparable: (outcome, lower bound of the log speedup); the second is 0 for programs that are not correct."""
    level = rank(program.outcome)
    return (level, bound(program.measures) if level == CORRECT else 0.0)


def speedup_of(program: Program) -> float | None:
    """The pooled estimate, None where it is not correct or was not timed."""
    known = pooled(program.measures) if program.outcome == "correct" else None
    return None if known is None else math.exp(known[0])


def worst(outcomes: Sequence[str]) -> str:
    """Of several devices: one that fails fails the kernel."""
    return min(outcomes, key=rank)


def _half_width(one: Judged) -> float:
    if one.low is None or one.high is None or one.low <= 0 or one.high <= 0:
        return 0.0
    return max(math.log((one.speedup or one.low) / one.low), math.log(one.high / (one.speedup or one.high)), 0.0)
