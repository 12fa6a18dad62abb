"""Scores of models and kernels: pure functions on tables, nothing read, nothing written.

An `Attempt` is one model at one problem. Denominators are fixed: every planned problem counts, and what is missing, lost to the machine,
late, wrong or a cheat is counted apart, so that no rate grows because something failed to run.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal, TypeVar, get_args

Mode = Literal["correct", "wrong", "cheat", "compile_fail", "timeout", "error", "infrastructure", "missing"]
MODES: tuple[Mode, ...] = get_args(Mode)
"""What became of an attempt. `infrastructure` is a fault of ours, `missing` a planned problem without an attempt."""

Signals = tuple[float | None, ...]
Number = TypeVar("Number", int, float)


@dataclass(frozen=True)
class Attempt:
    """One model at one problem, once."""

    model: str
    tier: str
    variant: str
    """`popcorn`, `original`, or `other` outside the suites."""
    level: int
    """0 outside the suites."""
    problem: str
    mode: Mode
    repeat: int = 0
    """Which repeat of the same question."""
    run: str = ""
    """Id of the run, for links."""
    speedup: float | None = None
    """Baseline time / time, eager."""
    speedup_low: float | None = None
    """Where its 95 % interval begins."""
    sol: float | None = None
    """Speed of light in [0, 1]."""
    energy_ratio: float | None = None
    """Candidate / baseline, lower is better."""
    tokens: int | None = None
    cost_usd: float | None = None
    gpu_s: float | None = None
    """Seconds of work on the device."""
    device: str = ""
    """What it was measured on."""

    @property
    def correct(self) -> bool:
        """Judged correct, and not condemned since."""
        return self.mode == "correct"

    @property
    def signals(self) -> Signals:
        """What kernels are compared on, higher is better: speedup, speed of light, and 1 / energy ratio on levels 3 and 4 (a call of
        levels 1 and 2 is too short for the counter of energy)."""
        energy = 1 / self.energy_ratio if self.energy_ratio else None
        return (self.speedup, self.sol, energy) if self.level >= 3 else (self.speedup, self.sol)


def mode_of(outcome: str | None, judgement: str | None = None) -> Mode:
    """The mode of an outcome (None: nothing was submitted) under the judgement of the ledger that holds."""
    if outcome == "correct":
        return "cheat" if judgement == "condemned" else "correct"
    if outcome in ("wrong_shape", "wrong_dtype", "wrong_values", "nonfinite", "not_deterministic", "mutated_inputs"):
        return "wrong"
    known: dict[str | None, Mode] = {
        "cheated": "cheat", "compile_error": "compile_fail", "timeout": "timeout", "harness_error": "infrastructure",
        "invalid_reference": "infrastructure",
    }  # fmt: skip
    return known.get(outcome, "error")


def dominates(a: Signals, b: Signals) -> bool:
    """At least as good on all signals and better on one. An unknown signal is worse than any known one, two unknown ones are equal."""
    x, y = _known(a), _known(b)
    return all(p >= q for p, q in zip(x, y, strict=True)) and x != y


def pareto_front(points: Sequence[Signals]) -> list[bool]:
    """For each point, whether no other dominates it. Equal points stand together on the front. O(n × size of the front)."""
    order = sorted(range(len(points)), key=lambda i: _known(points[i]), reverse=True)
    front: list[Signals] = []
    on = [False] * len(points)
    for i in order:  # whatever dominates a point comes before it in this order
        if not any(dominates(other, points[i]) for other in front):
            on[i] = True
            if points[i] not in front:
                front.append(points[i])
    return on


def fast_p(attempts: Iterable[Attempt], planned: int, p: float = 1.0) -> float | None:
    """Share of the planned problems with a correct kernel more than p times as fast as the baseline, by its whole interval where that is known: the
    baseline against itself is faster half of the time by the figure alone. None where nothing was planned."""
    least = {one: one.speedup if one.speedup_low is None else one.speedup_low for one in attempts if one.correct}
    fast = {one.problem for one, speedup in least.items() if speedup is not None and speedup > p}
    return len(fast) / planned if planned else None


@dataclass(frozen=True)
class GeometricMean:
    """The geometric mean of speedups, with failures stated both ways."""

    correct_only: float | None
    """Over correct and timed attempts alone: flatters who solves only what is easy."""
    failures_as_1: float | None
    """Every planned problem without one counts 1×: one keeps the reference."""
    failures_as_0: float | None
    """Every such problem counts 0×, so one failure makes it 0."""
    timed: int
    """Problems with a correct, timed kernel."""
    planned: int


def geometric_mean(speedups: Sequence[float], planned: int) -> GeometricMean:
    """Of one speedup for each solved problem, over `planned` problems."""
    if any(not value > 0 for value in speedups):
        raise ValueError("a speedup is a positive number")
    total = sum(math.log(value) for value in speedups)
    count, whole = len(speedups), max(planned, len(speedups))
    alone = math.exp(total / count) if count else None
    missing_all = alone if count == whole else 0.0
    return GeometricMean(alone, math.exp(total / whole) if whole else None, missing_all if whole else None, count, planned)


def pass_at_k(repeats: int, correct: int, k: int) -> float | None:
    """Unbiased estimate of the chance that one of k attempts is correct: 1 − C(n−c, k) / C(n, k) (Chen et al., 2021). None when k > n."""
    if k < 1 or k > repeats:
        return None
    return 1.0 - math.comb(repeats - correct, k) / math.comb(repeats, k)


def mean_pass_at_k(attempts: Iterable[Attempt], planned: int, k: int) -> float | None:
    """Mean over the planned problems; those without an attempt count 0. None where some problem has fewer than k repeats."""
    found: dict[str, list[bool]] = {}
    for one in attempts:
        if one.mode != "infrastructure":
            found.setdefault(one.problem, []).append(one.correct)
    estimates = [pass_at_k(len(results), sum(results), k) for results in found.values()]
    if not planned or not estimates or any(value is None for value in estimates):
        return None
    return sum(value for value in estimates if value is not None) / planned


def failure_modes(attempts: Sequence[Attempt], planned: int) -> dict[Mode, int]:
    """How the planned problems ended, each counted once by its best attempt. The counts add up to `planned` (or to what was tried, if more)."""
    best: dict[str, Mode] = {}
    for one in attempts:
        before = best.get(one.problem)
        if before is None or MODES.index(one.mode) < MODES.index(before):
            best[one.problem] = one.mode
    counts = dict.fromkeys(MODES, 0)
    for mode in best.values():
        counts[mode] += 1
    counts["missing"] = max(0, planned - len(best))
    return counts


@dataclass(frozen=True)
class Standing:
    """One model with one tier within one (variant, level)."""

    variant: str
    level: int
    model: str
    tier: str
    rank: int
    """From 1, by `pareto`; equal sizes share a rank."""
    pareto: int
    """Size of its Pareto-optimal subset among all kernels of the (variant, level)."""
    pareto_problems: int
    """Problems on which it holds a kernel that no other kernel for the same problem dominates."""
    planned: int
    modes: dict[Mode, int]
    """Planned problems by how they ended."""
    correct_rate: float | None
    """Share of correct repeats, mean over planned problems."""
    fast_1: float | None
    """fast_p at p = 1."""
    speedup_median: float | None
    """Over correct, timed problems, the median of the repeats of each."""
    speedup: GeometricMean
    sol_median: float | None
    energy_median: float | None
    """Median of candidate / baseline."""
    tokens: int | None
    """In all; None when no attempt tells."""
    cost_usd: float | None
    gpu_s: float | None
    repeats: int = 1
    """Fewest judged repeats of a problem that it tried."""
    pass_at_repeats: float | None = None
    """pass@k at k = `repeats`, mean over planned problems; None with one repeat, where it is `correct_rate`."""


def standings(attempts: Sequence[Attempt], planned: Mapping[tuple[str, int], int] | None = None) -> list[Standing]:
    """Every (variant, level, model, tier), best rank first. `planned`: problems in each (variant, level); where it says nothing, every problem
    that anybody tried there."""
    groups: dict[tuple[str, int], list[Attempt]] = {}
    for one in attempts:
        groups.setdefault((one.variant, one.level), []).append(one)
    found = []
    for key, of_group in sorted(groups.items()):
        count = (planned or {}).get(key) or len({one.problem for one in of_group})
        found += _rank(key, of_group, count)
    return found


def optimal(attempts: Sequence[Attempt]) -> list[bool]:
    """Which attempts of one (variant, level) are correct, timed and on the Pareto front of all of them."""
    fit = [one.correct and one.speedup is not None for one in attempts]
    front = iter(pareto_front([one.signals for one, ok in zip(attempts, fit, strict=True) if ok]))
    return [ok and next(front) for ok in fit]


def _rank(key: tuple[str, int], of_group: list[Attempt], planned: int) -> list[Standing]:
    on = optimal(of_group)
    by_problem: dict[str, list[Attempt]] = {}
    for one in of_group:
        by_problem.setdefault(one.problem, []).append(one)
    winners = {
        (one.model, one.tier, problem)
        for problem, some in by_problem.items()
        for one, best in zip(some, optimal(some), strict=True)
        if best
    }
    sizes: dict[tuple[str, str], int] = {}
    members: dict[tuple[str, str], list[Attempt]] = {}
    for one, best in zip(of_group, on, strict=True):
        who = (one.model, one.tier)
        sizes[who] = sizes.get(who, 0) + best
        members.setdefault(who, []).append(one)
    found = []
    for who, some in members.items():
        rank = 1 + sum(size > sizes[who] for size in sizes.values())
        problems = sum((*who, problem) in winners for problem in by_problem)
        found.append(_standing(key, who, some, planned, rank, sizes[who], problems))
    return sorted(found, key=lambda one: (one.rank, -one.pareto_problems, -(one.correct_rate or 0), one.model, one.tier))


def _standing(
    key: tuple[str, int], who: tuple[str, str], some: list[Attempt], planned: int, rank: int, pareto: int, problems: int
) -> Standing:
    modes = failure_modes(some, planned)
    speedups: dict[str, list[float]] = {}
    tried: dict[str, list[bool]] = {}
    for one in some:
        if one.correct and one.speedup is not None:
            speedups.setdefault(one.problem, []).append(one.speedup)
        if one.mode not in ("infrastructure", "missing"):
            tried.setdefault(one.problem, []).append(one.correct)
    # the middle of the repeats, not the best of them: asking more often must not raise a model
    typical = [median(values) for values in speedups.values()]
    rate = sum(sum(ended) / len(ended) for ended in tried.values()) / planned if planned else None
    fit = [one for one in some if one.correct]
    repeats = min((len(ended) for ended in tried.values()), default=0)
    return Standing(
        *key, *who, rank, pareto, problems, planned, modes, rate, fast_p(some, planned),
        _median(typical), geometric_mean(typical, planned), _median(one.sol for one in fit),
        _median(one.energy_ratio for one in fit), _total(one.tokens for one in some), _total(one.cost_usd for one in some),
        _total(one.gpu_s for one in some), repeats, mean_pass_at_k(some, planned, repeats) if repeats > 1 else None,
    )  # fmt: skip


def _known(signals: Signals) -> tuple[float, ...]:
    return tuple(-math.inf if value is None or math.isnan(value) else value for value in signals)


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _total(values: Iterable[Number | None]) -> Number | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
