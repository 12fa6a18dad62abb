"""How often does a 95 % interval of popcorn.measure.stats hold the truth? Simulated launches with a bias of their own; needs no device.

Run: python benchmarks/interval_coverage.py
"""

from unittest import mock

import numpy as np

from popcorn.measure import stats

REPEATS, BLOCKS, DRAWS = 1000, 8, 1000


def coverage(launches: int, bias: float, noise: float) -> float:
    """Share of intervals that hold the true mean 0; `bias` and `noise` are standard deviations over launches and over blocks."""
    generator = np.random.default_rng(1)
    held = 0
    for seed in range(REPEATS):
        taken = [list(generator.normal(generator.normal(0, bias), noise, BLOCKS)) for _ in range(launches)]
        _, low, high = stats.interval(taken, DRAWS, seed)
        held += low <= 0 <= high
    return held / REPEATS


def main() -> None:
    """Print a table: with the widening for few launches, and the plain percentile bootstrap beside it."""
    print("| launches | bias of a launch | noise of a block | percentile bootstrap | widened, as used |\n|---|---|---|---|---|")
    for bias, noise in ((0.005, 0.001), (0.005, 0.005)):
        for launches in (3, 8):
            with mock.patch.object(stats, "widening", lambda _: 1.0):
                plain = coverage(launches, bias, noise)
            print(f"| {launches} | {bias:.1%} | {noise:.1%} | {plain:.1%} | {coverage(launches, bias, noise):.1%} |")


if __name__ == "__main__":
    main()
