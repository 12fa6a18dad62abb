"""The archive: the best correct program of each cell, and a pool of incorrect ones that may be worth mending. In memory; the ledger is the truth.

An incorrect program is never an elite: it would hold a place in which a slow right one belongs. Nothing but a better program takes an
elite's place, no cap on the population, no age: a cell that was found stays found.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from popcorn.search.fitness import CORRECT, fitness, rank
from popcorn.search.program import Cell, Program

REPAIRS = 12
"""Programs kept for mending: those that came furthest, newest first."""
_MENDABLE = range(1, CORRECT)

Place = Literal["new", "better", "worse", "repair", "none"]


@dataclass
class Archive:
    """One population."""

    elites: dict[Cell, Program] = field(default_factory=dict)
    repairs: list[Program] = field(default_factory=list)

    def rival(self, program: Program) -> Program | None:
        """The elite whose place this program would take, None where the cell is free or the program is no better."""
        held = self.elites.get(program.cell)
        return held if held is not None and rank(program.outcome) == CORRECT and fitness(program) > fitness(held) else None

    def add(self, program: Program) -> Place:
        """Put a judged program where it belongs."""
        level = rank(program.outcome)
        if level < CORRECT:
            if level not in _MENDABLE:
                return "none"
            self.repairs = sorted([*self.repairs, program], key=lambda one: (-rank(one.outcome), -one.step))[:REPAIRS]
            return "repair"
        held = self.elites.get(program.cell)
        if held is not None and held.id != program.id and fitness(program) <= fitness(held):
            return "worse"
        self.elites[program.cell] = program
        return "new" if held is None else "better"

    def update(self, program: Program) -> None:
        """A program that was measured again, under its old id: an elite that turned out wrong loses its place."""
        self.repairs = [one for one in self.repairs if one.id != program.id]
        for cell, held in list(self.elites.items()):
            if held.id == program.id:
                if program.outcome == "correct":
                    self.elites[cell] = program
                else:
                    del self.elites[cell]

    def mended(self, identity: str) -> None:
        """A child of this program is correct: it needs no more mending."""
        self.repairs = [one for one in self.repairs if one.id != identity]

    @property
    def best(self) -> Program | None:
        """The fittest elite, the older of equals."""
        return max(self.elites.values(), key=lambda one: (fitness(one), -one.step), default=None)

    def ordered(self) -> list[Program]:
        """Elites by cell: the same order in every process."""
        return [self.elites[cell] for cell in sorted(self.elites)]

    def coverage(self, reachable: frozenset[Cell]) -> float:
        """Share of the reachable cells that hold an elite."""
        return len(set(self.elites) & reachable) / len(reachable)

    def __iter__(self) -> Iterator[Program]:
        return iter(self.ordered())
