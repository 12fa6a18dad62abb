"""How often does a 95 % interval of popcorn.measure.stats hold the truth? Simulated launches with a bias of their own; needs no device.

Run: python benchmarks/interval_coverage.py
"""

import numpy as np

from popcorn.measure import stats

REPEATS = 1000


def coverage(launches: int, blocks: int, bias: float, noise: float, kick: float) -> tuple[float, float]:
    """Share of intervals that hold the true mean 0, and their median half-width. `bias` and `noise` are standard deviations over launches and
    over blocks; a quarter of the blocks is disturbed by `kick` on average, one way or the other."""
    generator = np.random.default_rng(1)
    held, widths = 0, []
    for _ in range(REPEATS):
        taken = []
        for _launch in range(launches):
            values = generator.normal(generator.normal(0, bias), noise, blocks)
            for sign in (1, -1):
                values = values + sign * (generator.random(blocks) < 0.125) * generator.exponential(kick, blocks)
            taken.append(list(values))
        _, low, high = stats.interval(taken)
        held += low <= 0 <= high
        widths.append((high - low) / 2)
    return held / REPEATS, float(np.median(widths))


def main() -> None:
    """Print a table: launches that differ, blocks that are noisy, blocks that others disturb."""
    print(
        "| launches × blocks | bias of a launch | noise of a block | disturbed by | holds the truth | half-width |\n|---|---|---|---|---|---|"
    )
    for launches, blocks, bias, noise, kick in (
        (3, 8, 0.005, 0.001, 0.0),
        (8, 8, 0.005, 0.001, 0.0),
        (3, 8, 0.005, 0.005, 0.0),
        (5, 4, 0.03, 0.03, 0.0),
        (5, 4, 0.03, 0.03, 0.5),
    ):
        share, width = coverage(launches, blocks, bias, noise, kick)
        print(f"| {launches} × {blocks} | {bias:.1%} | {noise:.1%} | {kick:.0%} | {share:.1%} | ±{width:.1%} |")


if __name__ == "__main__":
    main()
