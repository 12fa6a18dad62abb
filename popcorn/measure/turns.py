"""Taking turns: the design of every comparison. Sides alternate in palindromes (ABBA), never at once, in several fresh launches.

Knows no process and no device: a round is anything that can time one block of a named side, so the rules run on a fake clock too.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol

from popcorn.measure.stats import half_width, medians, ratio
from popcorn.schema.measurement import Interval

Samples = list[list[list[float]]]
"""Launch, then block, then sample, in seconds per call."""


class Round(Protocol):
    """One fresh launch of every side."""

    def prepare(self, block: int) -> None:
        """New input contents for the next block, the same for every side. Outside all timing."""

    def time_block(self, side: str) -> list[float]:
        """Seconds per call of each sample of one block of one side."""


@dataclass(frozen=True)
class Plan:
    """How many launches and blocks, and when to stop."""

    min_rounds: int = 3
    max_rounds: int = 8
    blocks: int = 8
    """Blocks of each side in a round; at least 20 in all unless the calls are too slow for the budget."""
    budget_s: float = 10.0
    target: float = 0.01
    """Relative half-width at which the measuring may stop."""


@dataclass
class Turns:
    """What was taken."""

    samples: dict[str, Samples] = field(default_factory=dict)
    stopped_by: Literal["interval", "budget"] = "budget"
    rounds: int = 0

    def ratio(self, numerator: str, denominator: str) -> Interval:
        """Interval of one side's time over another's."""
        return ratio(medians(self.samples[numerator]), medians(self.samples[denominator]))


def take_turns(
    open_round: Callable[[int], AbstractContextManager[Round]],
    sides: Sequence[str],
    watched: tuple[str, str],
    plan: Plan,
    clock: Callable[[], float] = time.monotonic,
    progress: Callable[[str], None] = lambda _: None,
) -> Turns:
    """Runs rounds until the interval of watched[0]/watched[1] is within the target or the budget is used up (never under min_rounds).

    The order of the sides is reversed from block to block and from round to round, so that drift and warming fall on all alike.
    """
    turns = Turns({side: [] for side in sides})
    started = clock()
    while turns.rounds < plan.max_rounds:
        with open_round(turns.rounds) as current:
            for side in sides:
                turns.samples[side].append([])
            for block in range(plan.blocks):
                current.prepare(block)
                order = list(sides) if (block + turns.rounds) % 2 == 0 else list(reversed(sides))
                for side in order:
                    turns.samples[side][-1].append(current.time_block(side))
        turns.rounds += 1
        if turns.rounds < plan.min_rounds:
            progress(f"round {turns.rounds} of at least {plan.min_rounds}")
            continue
        width = half_width(turns.ratio(*watched))
        progress(f"round {turns.rounds}, interval ±{width:.1%}")
        if width <= plan.target:
            turns.stopped_by = "interval"
            break
        if clock() - started >= plan.budget_s:
            break
    return turns
