"""Which model is asked next: discounted upper confidence bounds. State is kept by name, so models may come and go between two runs."""

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass, field

DISCOUNT = 0.97
EXPLORE = 0.5


@dataclass
class Bandit:
    """Arms by name."""

    names: tuple[str, ...]
    uses: dict[str, float] = field(default_factory=dict)
    gains: dict[str, float] = field(default_factory=dict)

    def choose(self, rng: random.Random) -> str:
        """An arm that was never tried, else the one with the highest bound; ties are drawn."""
        total = sum(self.uses.get(name, 0.0) for name in self.names)

        def value(name: str) -> float:
            uses = self.uses.get(name, 0.0)
            return math.inf if uses < 1e-9 else self.gains[name] / uses + EXPLORE * math.sqrt(math.log(total + 1) / uses)

        best = max(value(name) for name in self.names)
        return rng.choice([name for name in self.names if value(name) == best])

    def learn(self, name: str, gain: float) -> None:
        """A gain in [−1, 1]. Older ones fade, those of names that are no longer asked too."""
        for known in list(self.uses):
            self.uses[known] *= DISCOUNT
            self.gains[known] *= DISCOUNT
        self.uses[name] = self.uses.get(name, 0.0) + 1.0
        self.gains[name] = self.gains.get(name, 0.0) + gain

    def restricted(self, names: Iterable[str]) -> "Bandit":
        """The same memory over other arms."""
        return Bandit(tuple(names), dict(self.uses), dict(self.gains))
