"""Progress: the state of a search in memory. It only learns what the ledger holds, in the order of steps, so it can always be made again."""

import dataclasses
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from popcorn.search.asking import Screen
from popcorn.search.bandit import Bandit
from popcorn.search.behaviour import describe
from popcorn.search.fitness import bound, fitness, pooled, speedup_of
from popcorn.search.ledger import Ledger
from popcorn.search.metaprompts import PromptPool
from popcorn.search.normal import normal
from popcorn.search.plan import SearchPlan
from popcorn.search.program import Judged, Program, Proposal, program_id
from popcorn.search.strategies import Context, Population

Ended = Literal["evaluations", "attempts", "money", "device_s", "target"]


@dataclass
class Progress:
    """Everything that is known so far."""

    plan: SearchPlan
    models: tuple[str, ...] = ()
    """Models to choose among, by name; a bandit learns which pays."""
    prompts: PromptPool | None = None
    population: Population = field(init=False)
    history: list[Program] = field(default_factory=list)
    """Every program in the order of steps, as last measured; those left out before a judge too."""
    seen: list[str] = field(default_factory=list)
    """Normalised texts."""
    finished: int = 0
    """Evaluations that ended; ours that failed do not count."""
    promised: int = 0
    """Asked for and not counted yet."""
    steps: int = 0
    generation: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    """Proposals whose price is unknown."""
    device_s: float = 0.0
    costs: dict[str, float] = field(default_factory=dict)
    """Program → money spent by the whole search up to it."""
    places: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    """Program → what tuning found."""
    tried: list[dict[str, Any]] = field(default_factory=list)
    """Points of templates."""
    luck: dict[str, tuple[tuple[Judged, ...], tuple[Judged, ...]]] = field(default_factory=dict)
    """Winner → judgements before and those on fresh seeds."""
    migrations: list[tuple[int, str, int]] = field(default_factory=list)
    """(evaluation, program, island it went to)."""
    ended: Ended | None = None

    def __post_init__(self) -> None:
        self.population = Population(self.plan)
        self.bandit = Bandit(self.models)
        self._migrated = 0

    # -- choosing ------------------------------------------------------------------------------------------------------------------

    def left(self) -> int:
        """Evaluations that may still be made, beside those of this generation that were asked for already."""
        return max(0, self.plan.evaluations - self.finished - self.promised)

    def next_generation(self) -> range:
        """The steps of the next generation; empty when a budget is used up."""
        plan, best = self.plan, self.population.best
        if self.left() == 0:
            self.ended = "evaluations"
        elif self.steps >= plan.attempts * plan.evaluations:
            self.ended = "attempts"
        elif plan.cost_usd is not None and self.cost_usd >= plan.cost_usd:
            self.ended = "money"
        elif plan.device_s is not None and self.device_s >= plan.device_s:
            self.ended = "device_s"
        elif plan.target is not None and best is not None and pow(2.718281828459045, bound(best.measures)) >= plan.target:
            self.ended = "target"
        if self.ended:
            return range(0)
        # the seeds are a generation of their own: everything else starts from what they are
        most = len(plan.seeds) - self.steps if self.steps < len(plan.seeds) else plan.width
        steps = range(self.steps, self.steps + min(most, self.left(), plan.width))
        self.steps = steps.stop
        self.generation += 1
        return steps

    def choose(self, step: int, rng: random.Random) -> Context:
        """The context of a step, with a model and a prompt where there are several."""
        context = self.population.choose(step, rng)
        if step < len(self.plan.seeds):
            return context  # nobody is asked for a seed
        model = self.bandit.choose(rng) if self.models else None
        prompt = self.prompts.choose(rng) if self.prompts is not None else None
        notes = self.notes.get(context.parent.id, "") if context.parent is not None else ""
        return dataclasses.replace(context, model=model, prompt=prompt, notes=notes)

    def screen(self, context: Context, proposal: Proposal, screens: Sequence[Screen]) -> str | None:
        """Why no judge should see it, None when one should; what it costs is counted here, once."""
        self.cost_usd += proposal.cost_usd or 0.0
        self.unpriced += proposal.cost_usd is None and proposal.model is not None
        if not proposal.source.strip():
            return proposal.reason or "there is no text"
        reason = next((said for said in (one(proposal, self.seen) for one in screens) if said), None)
        if reason is None:
            self.seen.append(normal(proposal.source))
        return reason

    # -- learning ------------------------------------------------------------------------------------------------------------------

    def program(self, context: Context, proposal: Proposal, judged: Judged) -> Program:
        """A judged proposal with its place; the evaluation is counted."""
        self.count(judged)
        cell = judged.cell or describe(proposal.source, self.plan.language)
        made = Program(
            program_id(context.step, proposal.source), context.step, proposal, cell, context.island, self.generation, (judged,)
        )  # fmt: skip
        self.history.append(made)
        self.costs[made.id] = self.cost_usd
        return made

    def learn(self, context: Context, program: Program) -> str:
        """Into the archive; who made it is credited by its improvement over its parent."""
        if program.outcome in ("harness_error", "invalid_reference"):
            return self.places.setdefault(program.id, "none")
        place = self.places[program.id] = self.population.learn(program)
        gain = improvement(program, context.parent)
        if context.model is not None:
            self.bandit.learn(context.model, gain)
        if context.prompt is not None and self.prompts is not None:
            self.prompts.credit(context.prompt.id, gain, speedup_of(program))
        return place

    def leave_out(self, context: Context, proposal: Proposal, reason: str) -> Program:
        """A proposal that no judge saw: it is history, and no evaluation."""
        judged = Judged(outcome="no_kernel", reason=reason)
        made = Program(
            program_id(context.step, proposal.source), context.step, proposal, describe(proposal.source, self.plan.language), context.island,
            self.generation, (judged,),
        )  # fmt: skip
        self.history.append(made)
        self.places[made.id], self.costs[made.id] = "left out", self.cost_usd
        if context.model is not None:
            self.bandit.learn(context.model, -1.0)
        if context.prompt is not None and self.prompts is not None:
            self.prompts.credit(context.prompt.id, -1.0, None)
        return made

    def measured_again(self, program: Program, judged: Judged, count: bool = True) -> Program:
        """The program with one judgement more, wherever it stands."""
        self.count(judged, count)
        if judged.outcome in ("harness_error", "invalid_reference"):
            return program
        made = dataclasses.replace(program, measures=(*program.measures, judged))
        self.history = [made if one.id == made.id else one for one in self.history]
        for island in self.population.islands:
            island.update(made)
        return made

    def end_generation(self, ledger: Ledger) -> None:
        """Migrate and evolve prompts, where they are due."""
        if len(self.population.islands) > 1 and self.finished // self.plan.migrate_every > self._migrated:
            self._migrated = self.finished // self.plan.migrate_every
            self.migrations += [(self.finished, program.id, to) for program, to in self.population.migrate()]
        if self.prompts is not None:
            self.cost_usd += self.prompts.evolve(self, ledger)

    # -- asking --------------------------------------------------------------------------------------------------------------------

    def apart(self, a: Program, b: Program) -> bool:
        """True when the intervals of two programs do not touch, or when there is nothing more to learn of the older one."""
        first, second = pooled(a.measures), pooled(b.measures)
        if first is None or second is None:
            return True
        return first[0] - first[1] > second[0] + second[1] or len(b.measures) > self.plan.remeasure

    def winners(self, count: int) -> list[Program]:
        """The best over all islands, each text once."""
        elites = {one.id: one for island in self.population.islands for one in island}
        return sorted(elites.values(), key=lambda one: (fitness(one), -one.step), reverse=True)[:count]

    def now(self, identity: str) -> Program | None:
        """A program as last measured."""
        return next((one for one in self.history if one.id == identity), None)

    def count(self, judged: Judged, count: bool = True) -> None:
        """An evaluation ended: its seconds, and one of the budget unless the fault was ours."""
        self.device_s += judged.device_s
        if count and judged.outcome not in ("harness_error", "invalid_reference"):
            self.finished += 1


def improvement(program: Program, parent: Program | None) -> float:
    """Of a child over its parent, in [−1, 1]: the log of the ratio of speedups where both are correct, 1 for mending, −1 for breaking."""
    if program.outcome != "correct":
        return -1.0 if parent is None or parent.outcome == "correct" else max(-1.0, (fitness(program)[0] - fitness(parent)[0]) / 6)
    if parent is None or parent.outcome != "correct":
        return 1.0
    child, before = pooled(program.measures), pooled(parent.measures)
    return 0.0 if child is None or before is None else max(-1.0, min(1.0, child[0] - before[0]))
