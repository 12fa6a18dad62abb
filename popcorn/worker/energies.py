"""Energies: what a call of the reference took, for the next evaluation of the same problem. Runs in the parent; imports no torch.

A burst takes the device for the better part of a second, and of a reference it says the same every time: for ten minutes it is asked once.
"""

import time
from collections.abc import Callable, Hashable

from popcorn.measure.energy import EnergyReading

VALID_S = 600.0
"""For so long a reading stands for the device as it is now."""


class Energies:
    """Readings of references, in this process's memory alone."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._read: dict[Hashable, tuple[float, EnergyReading]] = {}

    def find(self, problem: Hashable) -> EnergyReading | None:
        """The reading of this problem, not older than ten minutes."""
        taken_s, reading = self._read.get(problem, (0.0, None))
        return reading if reading is not None and self._clock() - taken_s <= VALID_S else None

    def keep(self, problem: Hashable, reading: EnergyReading) -> None:
        """Remember a reading that was taken now; one that failed, or is here already, is not."""
        if reading.energy_j is not None and self.find(problem) is not reading:
            self._read[problem] = (self._clock(), reading)
