"""Plan: the jobs of a sweep, those that are missing, and what they are expected to take, before anything is spent. Imports no torch."""

import os
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from popcorn import __version__
from popcorn.agents.tiers import find_tier
from popcorn.sweep.done import Done, Known
from popcorn.sweep.jobs import Job, agent_jobs, budget_of, row_of
from popcorn.sweep.matrix import Matrix

GUESS_TOKENS_IN, GUESS_TOKENS_OUT = 12_000, 4_000
"""Of one turn, where nothing is known yet: the prompt with its history, and an answer with its reasoning."""
GUESS_LLM_S = 60.0
"""Of one turn."""
AROUND_S = 8.0
"""Of an evaluation beside three times its budget: 3 s of a small kernel on a CPU, up to 20 s of a large one on an H200 with counters."""
OFFLINE = ("scripted/", "replay/", "baseline/")


@dataclass
class Cell:
    """One model in one tier."""

    model: str
    tier: str
    jobs: int = 0
    done: int = 0
    missing: int = 0
    given_up: int = 0
    refused: int = 0
    hours: float = 0.0
    """Of one agent, for what is missing."""
    device_hours: float = 0.0
    """Of these, on the device, which serves one agent at a time; 0 where `hours` were measured, waiting included."""
    tokens: int | None = 0
    dollars: float | None = 0.0
    """None where the model's price is unknown."""
    measured: bool = False
    """True when the estimate is the mean of jobs that are done; else it is a guess from budgets."""


@dataclass
class Plan:
    """What a sweep still has to do."""

    matrix: Matrix
    jobs: list[Job]
    missing: list[Job]
    cells: list[Cell]
    known: Known = field(repr=False)
    before: dict[str, dict[str, Any]] = field(default_factory=dict, repr=False)
    """Missing job → the line of this sweep's answer to another form of it: Popcorn, its prompts, the problem's text or settings changed since."""

    @property
    def outdated(self) -> int:
        """Missing jobs that this sweep has an answer for, to another question."""
        return len(self.before)

    @property
    def outdated_by(self) -> tuple[str, ...]:
        """Popcorn's other versions among those that answered them."""
        return tuple(sorted({str(line["harness"]) for line in self.before.values() if line.get("harness", __version__) != __version__}))

    @property
    def done(self) -> int:
        """Jobs that have a result."""
        return sum(cell.done for cell in self.cells)

    def hours(self, gpus: int) -> float:
        """Wall clock for what is missing, on so many devices with the matrix's agents each."""
        agents = max(1, min(gpus * self.matrix.agents_per_gpu, len(self.missing) or 1))
        busiest = sum(cell.device_hours for cell in self.cells) / max(1, min(gpus, len(self.missing) or 1))
        return max(sum(cell.hours for cell in self.cells) / agents, busiest)

    @property
    def tokens(self) -> int:
        """Of what is missing, as far as it can be estimated."""
        return sum(cell.tokens or 0 for cell in self.cells)

    @property
    def dollars(self) -> float:
        """Of what is missing, where prices are known."""
        return sum(cell.dollars or 0.0 for cell in self.cells)

    @property
    def unset_keys(self) -> dict[str, list[str]]:
        """Keys that this process does not have → models with missing jobs that need them."""
        found: dict[str, list[str]] = {}
        for model in dict.fromkeys(cell.model for cell in self.cells if cell.missing):
            key = row_of(self.matrix, model).key
            if key is not None and not os.environ.get(key):
                found.setdefault(key, []).append(model)
        return found

    @property
    def unpriced(self) -> list[str]:
        """Models whose price nobody wrote down."""
        return sorted({cell.model for cell in self.cells if cell.missing and cell.dollars is None})


def make_plan(matrix: Matrix, done: Done, jobs: list[Job] | None = None) -> Plan:
    """The plan of an agent sweep as things stand. Raises BadSweep, BadAgent, UnknownProblem."""
    found = agent_jobs(matrix) if jobs is None else jobs
    known = done.read()
    cells: dict[tuple[str, str], Cell] = {}
    missing = []
    for job in found:
        key = (job.model, job.tier)
        cell = cells.get(key)
        if cell is None:
            cell = cells[key] = Cell(*key)
        cell.jobs += 1
        if job.id in known.done:
            cell.done += 1
        elif job.id in known.refused:
            cell.refused += 1
        elif job.id in known.failures and given_up(matrix, known, job.id):
            cell.given_up += 1
        else:
            cell.missing += 1
            missing.append(job)
    own = {job.id for job in found}
    _estimate(matrix, list(cells.values()), known.done.values(), own)
    before = _before(matrix, missing, [line for job, line in known.done.items() if job not in own])
    return Plan(matrix, found, missing, list(cells.values()), known, before)


def _before(matrix: Matrix, missing: list[Job], others: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Of each missing job that this sweep asked in another form the line of the last answer."""
    before = {
        (line.get("problem"), line.get("model"), line.get("tier"), line.get("repeat")): line
        for line in others
        if line.get("sweep") == matrix.name
    }
    keys = {job.id: (job.problem, job.model, job.tier, job.repeat) for job in missing} if before else {}
    return {job: before[key] for job, key in keys.items() if key in before}


def given_up(matrix: Matrix, known: Known, job: str) -> bool:
    """True when its failures are more than the retries of their kind."""
    failures = known.failures.get(job, Counter())
    return failures.get("api_error", 0) > matrix.retries.api_error or failures.get("infrastructure", 0) > matrix.retries.infrastructure


def _estimate(matrix: Matrix, cells: list[Cell], lines: Iterable[dict[str, Any]], own: set[str]) -> None:
    """From this plan's own jobs where some are done, else from others of the same model and tier, whose budgets may be others."""
    ours: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    others: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        (ours if line["job"] in own else others)[str(line.get("model")), str(line.get("tier"))].append(line)
    for cell in cells:
        row, tier = row_of(matrix, cell.model), find_tier(cell.tier, matrix.tiers_file)
        past = ours.get((cell.model, cell.tier)) or others[cell.model, cell.tier]
        walls = [float(line["wall_s"]) for line in past if line.get("wall_s") is not None]
        spent = [int(line["tokens"]) for line in past if line.get("tokens") is not None]
        costs = [float(line["cost_usd"]) for line in past if line.get("cost_usd") is not None]
        offline = row.provider.startswith(OFFLINE)
        turns = budget_of(matrix, tier).turns
        submit_s = AROUND_S + 3 * matrix.budget_s
        wall_s = fmean(walls) if walls else turns * (0.0 if offline else GUESS_LLM_S) / 2 + submit_s
        fresh = turns / 2 * (GUESS_TOKENS_IN + GUESS_TOKENS_OUT)
        tokens = fmean(spent) if spent else 0.0 if offline else fresh
        guess = None if row.price is None else turns / 2 * (GUESS_TOKENS_IN * row.price.input + GUESS_TOKENS_OUT * row.price.output) / 1e6
        cost = fmean(costs) if costs else guess
        cell.measured = bool(walls)
        cell.hours = cell.missing * wall_s / 3600
        cell.device_hours = 0.0 if walls else cell.missing * submit_s / 3600
        cell.tokens = round(cell.missing * tokens)
        cell.dollars = None if cost is None else cell.missing * cost
