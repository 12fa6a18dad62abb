"""Intervals for numbers that were taken in launches and blocks. numpy only.

A process has a bias of its own (where its memory lies: about 0.5 % on an H200), so blocks of one process are not independent samples of
what a user would see. The bootstrap therefore draws launches first, then blocks within them. A percentile bootstrap over few launches is
too narrow (Hesterberg, "What Teachers Should Know About the Bootstrap", 2015, section 4.4): its distance from the estimate is widened by
t(L−1)/z · √(L/(L−1)).
"""

import math
from collections.abc import Sequence

import numpy as np

from popcorn.schema.measurement import Comparison, Interval

DRAWS = 4000
_Z = 1.959964
# two-sided 95 % quantiles of Student's t for 1, 2, … degrees of freedom (any statistical table)
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093)


def widening(launches: int) -> float:
    """Factor by which a bootstrap half-width over so many launches falls short of 95 % coverage. One launch counts as two: it knows less."""
    launches = max(2, launches)
    return _T[min(launches - 2, len(_T) - 1)] / _Z * math.sqrt(launches / (launches - 1))


def estimate(launches: Sequence[Sequence[float]]) -> float:
    """Mean over launches of the median over blocks."""
    return float(np.mean([np.median(blocks) for blocks in launches]))


def interval(launches: Sequence[Sequence[float]], draws: int = DRAWS, seed: int = 0) -> tuple[float, float, float]:
    """(estimate, low, high): 95 %, hierarchical bootstrap over launches, then blocks, widened for few launches.

    `launches` holds one value a block. Raises ValueError when it is empty.
    """
    if not launches or not all(len(blocks) for blocks in launches):
        raise ValueError("an interval needs at least one block in every launch")
    generator = np.random.default_rng(seed)
    per_launch = np.empty((len(launches), draws))
    for row, blocks in enumerate(launches):
        values = np.asarray(blocks, dtype=float)
        picks = generator.integers(0, len(values), size=(draws, len(values)))
        per_launch[row] = np.median(values[picks], axis=1)
    chosen = generator.integers(0, len(launches), size=(len(launches), draws))
    # each draw takes launches with replacement; a launch taken twice brings the same blocks twice, as in the population it stands for
    means = per_launch[chosen, np.arange(draws)].mean(axis=0)
    centre = estimate(launches)
    low, high = np.quantile(means, [0.025, 0.975])
    factor = widening(len(launches))
    return centre, centre - factor * max(0.0, centre - float(low)), centre + factor * max(0.0, float(high) - centre)


def ratio(numerator: Sequence[Sequence[float]], denominator: Sequence[Sequence[float]], draws: int = DRAWS) -> Interval:
    """Interval of numerator / denominator from paired blocks: the bootstrap runs on the logarithm of each pair's ratio."""
    logs = [[math.log(a / b) for a, b in zip(upper, lower, strict=True)] for upper, lower in zip(numerator, denominator, strict=True)]
    centre, low, high = interval(logs, draws)
    return Interval(value=math.exp(centre), low=math.exp(low), high=math.exp(high))


def compared(speedup: Interval, noise: float) -> Comparison:
    """`faster` or `slower` only where the whole interval leaves 1 by more than the noise that the A/A control showed."""
    if speedup.low > 1 + noise:
        return "faster"
    if speedup.high < 1 - noise:
        return "slower"
    return "no difference"


def half_width(value: Interval) -> float:
    """Half of the interval's width, relative to its value."""
    return (value.high - value.low) / 2 / value.value


def medians(launches: Sequence[Sequence[Sequence[float]]]) -> list[list[float]]:
    """Raw samples (launch, block, sample) to one median a block."""
    return [[float(np.median(block)) for block in blocks] for blocks in launches]
