"""Prompts: templates of prompts/, rendered strictly. What is rendered is stored with the run; hidden sizes and seeds are in no template."""

import functools
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from popcorn.agents.budget import Budget
from popcorn.agents.tiers import Tier
from popcorn.agents.tools.registry import find_tool, tools
from popcorn.agents.workbench import Settings
from popcorn.suites.problems import Problem, facts, statement

if TYPE_CHECKING:
    from jinja2 import Environment

    from popcorn.agents.place import Place

FOLDER = Path(__file__).parent / "prompts"


@functools.cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(FOLDER), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=False,
        autoescape=False,
    )  # fmt: skip


def render(name: str, **values: object) -> str:
    """One template. A name that the template uses and the caller lacks is an error."""
    return _environment().get_template(f"{name}.jinja").render(**values).strip() + "\n"


@functools.cache
def wording() -> str:
    """16 hex digits of every template and of what each tool says of itself: a model that was asked in other words was asked something else. The
    problem's own text has a hash of its own; what a machine says of itself is left out, since a run goes on after its driver was updated."""
    texts = {str(path.relative_to(FOLDER)): path.read_text(encoding="utf-8") for path in sorted(FOLDER.rglob("*.jinja"))}
    spoken = {name: [tool.summary, tool.takes_kernel] for name, tool in tools().items()}
    return hashlib.sha256(json.dumps([texts, spoken], sort_keys=True).encode()).hexdigest()[:16]


def write_system(tier: Tier, budget: Budget) -> str:
    """Who the model is here, what tools it has, how long it may go on."""
    return render("system", tools=[find_tool(name) for name in tier.tools], budget=budget)


def write_task(problem: Problem, settings: Settings, place: "Place") -> str:
    """The problem as the agent may see it: ranges of sizes, never the sizes that are timed."""
    from popcorn.verify.judge import FLOORS

    machine, found = place.machine(), facts(problem)
    return render(
        "task", problem=problem, language=settings.language, precision=settings.precision, machine=machine, gpu=machine.kind == "cuda",
        floor=found.tolerance.get(settings.precision) or FLOORS[settings.precision], notes=found.notes, noncontiguous=found.noncontiguous,
        reference=reference_shown(problem, place), contract=render(f"languages/{settings.language}", gpu=machine.kind == "cuda"),
    )  # fmt: skip


def reference_shown(problem: Problem, place: "Place") -> str:
    """The reference as the model sees it."""
    return statement(problem, place.size())
