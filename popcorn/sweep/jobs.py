"""Jobs: a matrix multiplied out. Each has an id made of everything that changes its meaning, and of nothing else. Imports no torch.

In an agent job's id: problem and the hash of its text, what of the model's row changes its answers, the tier, budgets, how kernels are judged,
the number of the repeat, the wording of the prompts, Popcorn's version. Not in it: the sweep's name, prices, connections, agents a GPU, retries: these change no answer.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from popcorn import __version__
from popcorn.agents.budget import Budget
from popcorn.agents.models import Row, find_model
from popcorn.agents.prompts import wording
from popcorn.agents.tiers import Tier, find_tier
from popcorn.agents.workbench import Settings
from popcorn.errors import BadSweep
from popcorn.reading import what_is_wrong
from popcorn.suites.problems import Problem, facts, find_problem, list_problems
from popcorn.sweep.matrix import Matrix

_MEANING = ("provider", "endpoint", "effort", "max_tokens")
"""What of a model's row changes its answers."""


@dataclass(frozen=True, slots=True)
class Job:
    """One run of an agent."""

    id: str
    problem: str
    model: str
    tier: str
    repeat: int


@dataclass(frozen=True)
class Question:
    """Everything that a job's run needs, opened."""

    problem: Problem
    row: Row
    tier: Tier
    budget: Budget
    settings: Settings


def problems_of(matrix: Matrix) -> list[Problem]:
    """The problems of a matrix, in its order. Raises BadSweep, UnknownProblem."""
    variants = matrix.variants or ("original", "popcorn")
    shipped = [one for level in matrix.levels for variant in variants for one in list_problems(variant, level)]
    if not matrix.problems:
        # kernels that communicate need every device of a node at once: a broad sweep leaves them to one of their own
        # (whoever declares RANKS has the word in its text: the others need not be parsed)
        return [one for one in shipped if matrix.devices > 1 or "RANKS" not in one.source or facts(one).ranks is None]
    numbers = {one for one in matrix.problems if isinstance(one, int)}
    chosen = [one for one in shipped if one.number in numbers]
    chosen += [find_problem(one) for one in matrix.problems if isinstance(one, str)]
    if not chosen:
        raise BadSweep(
            f"the sweep {matrix.name} has no problem: none of {', '.join(map(str, matrix.problems))} is in its levels; see `popcorn problems list`."
        )
    return list({one.id: one for one in chosen}.values())


def row_of(matrix: Matrix, name: str) -> Row:
    """A model's row: written in the sweep's own file, else of models.toml. Raises BadAgent, BadSweep."""
    if name not in matrix.model:
        return find_model(name, matrix.models_file)
    try:
        return Row.model_validate({**matrix.model[name], "name": name})
    except ValidationError as error:
        raise BadSweep(f"[model.{name}] is no row of a model: {what_is_wrong(error, Row, without=('name',))}; see models.toml.") from None


def budget_of(matrix: Matrix, tier: Tier) -> Budget:
    """The tier's own, with what the matrix replaces; a tier without tools keeps its turns: asked once more, a model would see nothing new."""
    own, asked = Budget.of(tier), matrix.budgets
    return Budget(
        (asked.turns if tier.tools else None) or own.turns, own.tool_calls if asked.tool_calls is None else asked.tool_calls, asked.tokens or own.tokens,
        own.cost_usd if asked.dollars is None else asked.dollars, matrix.worker_timeout_s or own.wall_s,
    )  # fmt: skip


def settings_of(matrix: Matrix) -> Settings:
    """How kernels are judged."""
    return Settings(
        language=matrix.language, precision=matrix.precision, budget_s=matrix.budget_s, timeout_s=matrix.timeout_s,
        build_timeout_s=matrix.build_timeout_s, trials=matrix.trials, compile_baseline=matrix.compile_baseline, control=matrix.control,
    )  # fmt: skip


def agent_jobs(matrix: Matrix, problems: list[Problem] | None = None) -> list[Job]:
    """Every job of an agent sweep: repeats within problems within models within tiers. Raises BadSweep, BadAgent, UnknownProblem."""
    return list(_jobs(matrix, problems_of(matrix) if problems is None else problems))


def _jobs(matrix: Matrix, problems: list[Problem]) -> Iterator[Job]:
    left = matrix.limits.jobs or 10**12
    settings = vars(settings_of(matrix)) | {"device": matrix.device, "devices": matrix.devices}
    for tier in (find_tier(name, matrix.tiers_file) for name in matrix.tiers):
        for model in matrix.models:
            row = row_of(matrix, model)
            meaning: list[Any] = [
                __version__, wording(), {name: getattr(row, name) for name in _MEANING}, model, tier.model_dump(exclude={"summary"}), vars(budget_of(matrix, tier)), settings,
            ]  # fmt: skip
            shared = hashlib.sha256(json.dumps(meaning, sort_keys=True, default=str).encode())
            for problem in problems:
                for repeat in range(1, matrix.repeats + 1):
                    if left == 0:
                        return
                    left -= 1
                    own = shared.copy()
                    own.update(f"/{problem.id}/{problem.hash}/{repeat}".encode())
                    yield Job(own.hexdigest()[:16], problem.id, model, tier.name, repeat)


def fingerprint(jobs: list[Job]) -> str:
    """Of everything that these jobs ask: 16 hex digits."""
    return hashlib.sha256("\n".join(job.id for job in jobs).encode()).hexdigest()[:16]


def question_of(matrix: Matrix, job: Job) -> Question:
    """The job, opened."""
    tier = find_tier(job.tier, matrix.tiers_file)
    return Question(find_problem(job.problem), row_of(matrix, job.model), tier, budget_of(matrix, tier), settings_of(matrix))
