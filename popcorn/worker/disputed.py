"""A time that the parent's clock did not confirm: asked again in pairs, a block of the side's own and the parent's timing right after it.

A false clock shows in every pair, and clearly in four. A machine that others use too slows now the one half of a pair, now the other, so it accuses nobody; but then
what counts for this launch is the parent's time, and the run is not fit. So whoever tells the truth only when asked twice gains nothing. Nor does
whoever tells in every launch a little less than the parent's clock could deny there: of all launches it is seen.

Helpers that work without end, a pool that spins or a loader that reads ahead, take the core from the thread that they help: seldom in a short window,
often in a long batch. A clock is not false for that: accused is only whose first thread alone worked for longer than was claimed. The parent's time counts all the same, so
work that is left to a helper gains nothing.
Runs in the parent.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from popcorn.measure.turns import Samples
from popcorn.verify.defences.clock import SLACK, short_by
from popcorn.verify.defences.finding import Finding
from popcorn.verify.defences.registry import look
from popcorn.worker.refused import Refused
from popcorn.worker.taken import BASELINE, CANDIDATE, Taken

if TYPE_CHECKING:
    from popcorn.worker.launch import Launch

PAIRS = 8
_LEAST = 3
_CLEAR = 4
"""Pairs after which a false clock may be as clear as after all."""
_SMALLEST_S = 1e-9
_FAULT_S = 1.5e-6
"""What a fresh page costs at the most, with caches that know nothing of it (0.4 to 1.2 µs on a virtual machine). Those beyond the reference's accuse nobody: what a candidate keeps grows by a batch and hardly by
a block. They count all the same: the time that stands is the parent's."""


def settle_dispute(launch: "Launch", parent_s: Callable[[str], float]) -> None:
    """`parent_s` times one side by the parent's clock, seconds a call. Refused where every pair says the same; else the launch's times of the
    candidate become the parent's where those are longer."""
    mine: list[tuple[float, float]] = []
    theirs: list[tuple[float, float]] = []
    helped: list[float] = []
    grown: list[float] = []
    for attempt in range(PAIRS):
        launch.prepare(launch.block + 1)
        order = [(CANDIDATE, mine), (BASELINE, theirs)]
        for side, pairs in order if attempt % 2 == 0 else reversed(order):
            claimed_s = launch.claim(side)
            pairs.append((max(parent_s(side), _SMALLEST_S), claimed_s))
            if side == CANDIDATE:
                helped.append(launch.helped_s)
        grown.append(_FAULT_S * max(0.0, launch.faults.get(CANDIDATE, 0.0) - launch.faults.get(BASELINE, 0.0)))
        less = [beside + fresh for beside, fresh in zip(helped, grown, strict=True)]
        alone = [(max(parent - off, _SMALLEST_S), claimed) for (parent, claimed), off in zip(mine, less, strict=True)]
        ratios = _ratios(alone, theirs)
        if len(ratios) >= _LEAST and _mean(ratios) <= SLACK:
            break
        if len(ratios) >= _CLEAR and _found(ratios, mine) is not None:
            break
    finding = _found(ratios, mine)
    if finding is None and _mean(ratios) <= SLACK and launch.stands(CANDIDATE):
        return  # a busy moment of the host's, in a call that waits for the host anyway
    if finding is not None:
        launch.taken.accused.add(launch.index)
    if finding is not None and len(launch.taken.accused) > 1:  # one process may lie badly in memory; a false clock lies in every launch
        raise Refused(finding.outcome, finding.evidence, "timing", "clock")
    slowed = max(1.0, float(np.median([claimed for _, claimed in theirs])) / launch.recorded_s(BASELINE))
    least_s = float(np.median([parent for parent, _ in mine])) / _of_reference(theirs)[0] / slowed
    busy = float(np.median(helped)) > (SLACK - 1) * least_s
    grows = float(np.median(grown)) > (SLACK - 1) * least_s
    why = "beside helpers that never rest" if busy else "where memory grows from call to call" if grows else "on this busy machine"
    launch.lengthen(CANDIDATE, least_s, why=why)


def lengthen_all(samples: Samples, taken: Taken) -> None:
    """A candidate's times of all launches, as they were taken, by what its claims fell short in nearly all of them; as far as they were not
    lengthened already, each for itself."""
    ratios = list(taken.over_claimed.values())
    finding = look("clock", ratios, find="find_in_launches")
    if finding is None:
        return
    for index, launch in enumerate(samples):
        factor = max(1.0, short_by(ratios) / taken.lengthened.get(index, 1.0))
        for block in launch:
            block[:] = [sample * factor for sample in block]
    taken.doubts.insert(0, f"the parent's clock does not confirm the times: {finding.evidence}, and that counts")


def _found(ratios: list[float], mine: list[tuple[float, float]]) -> Finding | None:
    return look("clock", ratios, float(np.median([parent for parent, _ in mine])), find="find_in_pairs")


def _ratios(mine: list[tuple[float, float]], theirs: list[tuple[float, float]]) -> list[float]:
    """The parent's time over the claimed one of every pair, as the reference's pairs allow it to be."""
    factor, extra_s = _of_reference(theirs)
    return [parent / max(claimed * factor, claimed + extra_s) for parent, claimed in mine]


def _of_reference(pairs: list[tuple[float, float]]) -> tuple[float, float]:
    """By how much an honest side's calls take longer when the parent times them (colder caches): as a factor, and as seconds a call."""
    if not pairs:
        return 1.0, 0.0
    factor = float(np.median([parent / claimed for parent, claimed in pairs]))
    return max(1.0, factor), max(0.0, float(np.median([parent - claimed for parent, claimed in pairs])))


def _mean(ratios: list[float]) -> float:
    return math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))
