"""Intervals for numbers that were taken in launches and blocks. numpy only.

A process has a bias of its own (where its memory lies: about 0.5 % on an H200), so blocks of one process are not independent samples of
what a user would see: launches are. Each launch gives one number, the median of its blocks, which a disturbed block does not move; the
interval is Student's over these (Student, "The Probable Error of a Mean", 1908). A bootstrap over launches and then blocks was used before:
it draws a disturbed block often enough to be four times too wide on a CPU (docs/log.md).
"""

import math
from collections.abc import Sequence

import numpy as np

from popcorn.schema.measurement import Comparison, Interval

# two-sided 95 % quantiles of Student's t for 1, 2, … degrees of freedom (any statistical table)
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093)
_FAR = 700.0
"""Logarithms beyond it have no power in float64."""


def student(launches: int) -> float:
    """Half-width of a 95 % interval of a mean over so many launches, in standard deviations of one. One launch counts as two: it knows less."""
    launches = max(2, launches)
    return _T[min(launches - 2, len(_T) - 1)] / math.sqrt(launches)


def estimate(launches: Sequence[Sequence[float]]) -> float:
    """Mean over launches of the median over blocks."""
    return float(np.mean([np.median(blocks) for blocks in launches]))


def interval(launches: Sequence[Sequence[float]]) -> tuple[float, float, float]:
    """(estimate, low, high): 95 %, by Student's t over the launches' medians.

    `launches` holds one value a block. Where there is one launch alone, its blocks stand for launches. Raises ValueError when it is empty.
    """
    if not launches or not all(len(blocks) for blocks in launches):
        raise ValueError("an interval needs at least one block in every launch")
    centre = estimate(launches)
    values = [float(np.median(blocks)) for blocks in launches] if len(launches) > 1 else list(launches[0])
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    half = student(len(launches)) * spread
    return centre, centre - half, centre + half


def ratio(numerator: Sequence[Sequence[float]], denominator: Sequence[Sequence[float]]) -> Interval:
    """Interval of numerator / denominator from paired blocks, by the logarithm of each pair's ratio."""
    logs = [[math.log(a / b) for a, b in zip(upper, lower, strict=True)] for upper, lower in zip(numerator, denominator, strict=True)]
    centre, low, high = interval(logs)
    return Interval(value=math.exp(centre), low=math.exp(max(low, -_FAR)), high=math.exp(min(high, _FAR)))


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
