"""What tests of searches share: a judge that is a function of the text, proposers, contexts, programs."""

import hashlib
import random
import threading
from pathlib import Path

from popcorn.search.finding import Finding
from popcorn.search.ledger import Ledger
from popcorn.search.loop import search
from popcorn.search.plan import SearchPlan
from popcorn.search.program import Judged, Program, Proposal
from popcorn.search.strategies import Context

KERNEL = '#include "popcorn_kernel.h"\n#define TILE 16\nint popcorn_forward(void) {\n    for (int i = 0; i < 4; i++) {}\n    return 0;\n}\n'


def text(number: int) -> str:
    """A kernel that is no other's double."""
    return KERNEL.replace("return 0", f"return {number}")


class HashJudge:
    """Answers by the text's hash: some wrong, some that do not compile, speedups from 0.5 to 4.5. The same text, the same answer."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.at_once = self.most = 0
        self._lock = threading.Lock()

    def judge(self, source: str) -> Judged:
        with self._lock:
            self.asked.append(source)
            self.at_once += 1
            self.most = max(self.most, self.at_once)
        number = int(hashlib.sha256(source.encode()).hexdigest()[:8], 16)
        with self._lock:
            self.at_once -= 1
        if number % 7 == 0:
            return Judged(outcome="wrong_values", reason="out[0] differs")
        if number % 11 == 0:
            return Judged(outcome="compile_error", reason="expected ;")
        return right(0.5 + (number % 1000) / 250)


class Numbers:
    """Proposes kernels with numbers drawn at random, in one of four behaviours."""

    name = "numbers"

    def propose(self, context: Context) -> Proposal:
        number = context.rng.randrange(10**6)
        pragma = context.rng.choice(("", "#pragma omp simd\n", "#pragma omp parallel for\n", "#pragma omp parallel for simd\n"))
        parents = (context.parent.id,) if context.parent else ()
        return Proposal(source=text(number).replace("    for", f"{pragma}    for"), parents=parents, cost_usd=0.01)


def right(speedup: float, half: float = 0.02, **more: object) -> Judged:
    """Correct and so fast."""
    return Judged(outcome="correct", speedup=speedup, low=speedup * (1 - half), high=speedup * (1 + half), device_s=0.5, **more)  # type: ignore[arg-type]


def program(identity: str, judged: Judged, cell=(0, 0, 0), island: int = 0, step: int = 0, **proposal: object) -> Program:
    """A program in a cell."""
    return Program(identity, step, Proposal(source=text(step), **proposal), cell, island, 1, (judged,))  # type: ignore[arg-type]


def run(folder: Path, proposer=None, judge=None, **plan: object) -> Finding:
    """A short search."""
    given: dict = {"problem": "x", "seeds": (text(0),), "evaluations": 20, "finals": 0, **plan}
    with Ledger(folder) as ledger:
        return search(SearchPlan(**given), proposer or Numbers(), judge or HashJudge(), ledger)


def context(parent: Program | None = None, step: int = 1, seed: int = 0, **more: object) -> Context:
    """What a proposer is given."""
    return Context(step, random.Random(seed), 0, parent, **more)  # type: ignore[arg-type]


def told(found: Finding) -> list[tuple]:
    """Everything that two runs of one search must agree on."""
    state = found.progress
    elites = [[(cell, one.id, one.measures) for cell, one in sorted(island.elites.items())] for island in state.population.islands]
    repairs = [[one.id for one in island.repairs] for island in state.population.islands]
    history = [(one.id, one.cell, one.island, one.proposal, one.measures) for one in state.history]
    return [elites, repairs, history, state.finished, state.migrations, state.cost_usd, state.bandit.uses, state.bandit.gains]
