"""Runs of agents: one problem, one model, one tier, several repeats at once over one engine. What the command line and sweeps call. Needs Inspect."""

import shutil
from pathlib import Path

from inspect_ai import eval_async
from inspect_ai.util._display import init_display_type

from popcorn.agents.budget import Budget
from popcorn.agents.models import Row, open_model
from popcorn.agents.place import Place, runs_folder
from popcorn.agents.recorder import Observer, run_id
from popcorn.agents.task import language_here, make_task
from popcorn.agents.tiers import Tier
from popcorn.agents.workbench import Settings, Workbench
from popcorn.errors import BadAgent
from popcorn.records.runs import FILE, read_run
from popcorn.schema.run import Run
from popcorn.suites.problems import Problem


async def run_agents(
    problem: Problem,
    row: Row,
    tier: Tier,
    settings: Settings,
    place: Place,
    *,
    repeats: int = 1,
    budget: Budget | None = None,
    folder: Path | None = None,
    fresh: bool = False,
    at_once: int | None = None,
    observe: Observer = lambda *_: None,
) -> list[Run]:
    """Run them, or go on with those that were stopped, and return every repeat's Run in order.

    `fresh` sets what earlier runs of the same question left aside. Raises BadAgent: no key, a problem that needs more devices, a sample
    that Inspect could not run at all.
    """
    init_display_type("none")  # the live view is ours
    place.check(problem)
    model = open_model(row)
    budget, folder = budget or Budget.of(tier), folder or runs_folder()
    settings = Settings(**{**vars(settings), "language": language_here(settings.language, row.provider, place)})
    bench = Workbench(place, problem, settings)
    ids = [run_id(bench, row.name, tier, budget, repeat) for repeat in range(1, repeats + 1)]
    if fresh:
        for identity in ids:
            _set_aside(folder / identity)
    task = make_task([problem], tier, settings, place=place, budget=budget, row=row, folder=folder, observe=observe)
    logs = await eval_async(
        task, model=model, epochs=repeats, max_samples=at_once or repeats, log_dir=str(folder / "logs"), log_buffer=1, ctl_server=False,
        score_display=False, log_realtime=False,
    )  # fmt: skip
    found = [read_run(path) if (path := folder / identity / FILE).is_file() else None for identity in ids]
    runs = [run for run in found if run is not None]
    if len(runs) < len(ids) or any(run.ended_by is None for run in runs):
        raise BadAgent(f"{sum(run is None or run.ended_by is None for run in found)} of {repeats} runs did not end: {_why(logs)}")
    return runs


def _set_aside(folder: Path) -> None:
    if folder.exists():
        number = 1
        while (there := folder.with_name(f"{folder.name}.{number}")).exists():
            number += 1
        shutil.move(folder, there)


def _why(logs: list) -> str:
    for log in logs:
        if log.status == "cancelled":
            return "they were stopped; the same command goes on with them."
        for sample in log.samples or []:
            if sample.error is not None:
                return str(sample.error.message)[:500]
        if log.error is not None:
            return str(log.error.message)[:500]
    return "Inspect gave no reason; its log is in the folder of runs."
