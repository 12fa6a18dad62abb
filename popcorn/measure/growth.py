"""How a time grows with the work: an overhead and a rate, fitted through measured times. Pure functions. Imports without torch.

A kernel's time is about `overhead_s + work × per_unit_s`: what a call costs whatever its sizes, then what the memory or the arithmetic takes.
Two implementations differ in both, so their ratio turns from one constant into another between small and large calls; a fit through
few cases says where, which the cases themselves may have stepped over. The fit minimises the sum of squared relative errors.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Growth:
    """One implementation's time as a function of the work."""

    overhead_s: float
    per_unit_s: float
    """Seconds a unit of work (a byte, or a second at the machine's ceilings)."""

    def at(self, work: float) -> float:
        """Seconds of a call that has so much to do."""
        return self.overhead_s + work * self.per_unit_s


def fit_growth(points: Sequence[tuple[float, float]]) -> Growth | None:
    """Through (work, seconds) of different works, all above 0; neither term is negative. None where fewer than two works differ."""
    if len({work for work, _ in points}) < 2:
        return None
    scale = max(work for work, _ in points)  # bytes and seconds are far apart: the sums stay near 1
    unit = min(time_s for _, time_s in points)
    rows = [(unit / time_s, work / scale * unit / time_s) for work, time_s in points]
    aa, ab, bb = (sum(row[i] * row[j] for row in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
    a, b = (sum(row[i] for row in rows) for i in (0, 1))
    determinant = aa * bb - ab * ab
    if determinant <= 1e-12 * aa * bb:
        return None
    overhead, per_scale = (a * bb - b * ab) / determinant, (b * aa - a * ab) / determinant
    if overhead < 0:
        overhead, per_scale = 0.0, b / bb
    elif per_scale < 0:
        overhead, per_scale = a / aa, 0.0
    return Growth(overhead * unit, per_scale * unit / scale)
