"""Which program is changed next: four strategies behind one word, over the same loop, for ablation at equal budget.

| word | parent of a step |
|---|---|
| `best_of_n` | always the seed: asking again, the thing to beat |
| `greedy` | the best so far |
| `map_elites` | the best, or any elite of the grid; or a program of the repair pool |
| `islands` | the same within one of several populations; the best of each moves to the next every so often |
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from popcorn.search.archive import Archive
from popcorn.search.behaviour import reachable
from popcorn.search.fitness import fitness
from popcorn.search.plan import SearchPlan
from popcorn.search.program import Cell, Program

if TYPE_CHECKING:
    from popcorn.search.metaprompts import PromptVersion


@dataclass(frozen=True)
class Context:
    """What a proposer is given."""

    step: int
    rng: random.Random
    island: int
    parent: Program | None
    """None before anything was judged."""
    repair: bool = False
    """The parent is incorrect and is to be mended."""
    inspirations: tuple[Program, ...] = ()
    """Other elites of the same island."""
    target: Cell | None = None
    """A reachable cell without an elite, to aim at."""
    best: Program | None = None
    model: str | None = None
    """Which model is asked, where there are several."""
    prompt: "PromptVersion | None" = None
    """The sections that guide a model."""
    seeds: int = 0
    """Steps that were seeds."""
    notes: str = ""
    """What tuning found of the parent's declared parameters."""


@dataclass
class Population:
    """Islands of archives, the seed, and the count that migration goes by. One island but for `islands`."""

    plan: SearchPlan
    islands: list[Archive] = field(default_factory=list)
    first: Program | None = None
    """The first judged program: what best_of_n asks again about."""
    moved: int = 0
    """Programs that migrated."""

    def __post_init__(self) -> None:
        self.islands = [Archive() for _ in range(self.plan.islands if self.plan.strategy == "islands" else 1)]

    @property
    def best(self) -> Program | None:
        """Over all islands."""
        return max(
            (one for one in (island.best for island in self.islands) if one), key=lambda one: (fitness(one), -one.step), default=None
        )

    def cells(self) -> set[Cell]:
        """Cells that some island fills."""
        return {cell for island in self.islands for cell in island.elites}

    def choose(self, step: int, rng: random.Random) -> Context:
        """The context of a step. A child is judged, and learned, on its parent's island."""
        number = step % len(self.islands)
        island = self.islands[number]
        parent, repair = self._parent(island, rng)
        others = [one for one in island if parent is None or one.id != parent.id]
        inspirations = tuple(rng.sample(others, min(self.plan.inspirations, len(others))))
        empty = sorted(reachable(self.plan.language) - set(island.elites))
        target = _near(parent, empty, rng) if self.plan.strategy in ("map_elites", "islands") else None
        return Context(step, rng, number, parent, repair, inspirations, target, self.best, seeds=len(self.plan.seeds))

    def learn(self, program: Program) -> str:
        """Put a judged program on its island, after its migration where one is due."""
        self.first = self.first or program
        place = self.islands[program.island].add(program)
        if program.outcome == "correct":
            for parent in program.proposal.parents:
                self.islands[program.island].mended(parent)
        return place

    def migrate(self) -> list[tuple[Program, int]]:
        """The best of each island goes to the next one in the ring; an elite there yields only to a better one."""
        leaving = [island.best for island in self.islands]
        gone = []
        for number, program in enumerate(leaving):
            to = (number + 1) % len(self.islands)
            if program is not None and to != number and self.islands[to].add(program) in ("new", "better"):
                gone.append((program, to))
        self.moved += len(gone)
        return gone

    def _parent(self, island: Archive, rng: random.Random) -> tuple[Program | None, bool]:
        elites, best, plan = island.ordered(), island.best, self.plan
        if plan.strategy == "best_of_n":
            return self.first, self.first is not None and self.first.outcome != "correct"
        if best is None:
            return (_draw(island.repairs, rng), True) if island.repairs else (self.first, self.first is not None)
        if plan.strategy == "greedy":
            return best, False
        if island.repairs and rng.random() < plan.repair:
            return _draw(island.repairs, rng), True
        return (best if rng.random() < plan.exploit else rng.choice(elites)), False


def _draw(programs: Sequence[Program], rng: random.Random) -> Program:
    return programs[min(int(rng.expovariate(0.7)), len(programs) - 1)]


def _near(parent: Program | None, empty: Sequence[Cell], rng: random.Random) -> Cell | None:
    """One of the empty cells nearest to the parent: a step away rather than anywhere."""
    if parent is None or not empty:
        return None
    distance = {cell: sum(abs(a - b) for a, b in zip(cell, parent.cell, strict=True)) for cell in empty}
    least = min(distance.values())
    return rng.choice([cell for cell in empty if distance[cell] == least])
