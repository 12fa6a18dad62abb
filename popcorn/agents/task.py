"""popcorn/kernels: problems × one tier as a plain Inspect task. Any agent of Inspect can stand in for ours. Needs Inspect.

inspect eval popcorn/kernels -T level=1 -T tier=default --model openai/gpt-5 --epochs 3
inspect eval popcorn/kernels -T problem=popcorn/L1/29 --solver my_package/my_agent
"""

import asyncio
import atexit
import uuid
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai._util.package import get_installed_package_name
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, get_model
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import store

from popcorn.agents import inspect_tools
from popcorn.agents.budget import Budget
from popcorn.agents.foreign import adopt
from popcorn.agents.loop import kernel_writer
from popcorn.agents.models import Row, find_model
from popcorn.agents.place import Place, open_place, runs_folder
from popcorn.agents.prompts import reference_shown, write_system, write_task
from popcorn.agents.recorder import Observer, Recorder, open_run, run_id
from popcorn.agents.tiers import Tier, find_tier
from popcorn.agents.workbench import Settings, Workbench
from popcorn.suites.problems import Problem, find_problem, list_problems

_PLACES: dict[str, Place] = {}


def named(name: str) -> str:
    """`popcorn/<name>` in Inspect's registry: it puts the package before the name itself where it sees an installed package of that name."""
    return name if get_installed_package_name(named) else f"popcorn/{name}"


def place_of(device: str) -> Place:
    """The one place of a device in this process, opened at its first use and closed at exit."""
    if device not in _PLACES:
        _PLACES[device] = open_place(device)
        atexit.register(_PLACES[device].engine.close)
    return _PLACES[device]


def language_here(language: str, model: str, place: Place) -> str:
    """`auto`: CUDA on a GPU, C on a CPU; the baselines are torch whatever was asked."""
    if model.partition("/")[0] == "baseline":
        return "torch"
    return ("cuda" if place.machine().kind == "cuda" else "c") if language == "auto" else language


@task(name=named("kernels"))
def kernels(
    level: int | None = None,
    variant: str | None = None,
    problem: str | None = None,
    tier: str = "default",
    language: str = "auto",
    precision: str = "float32",
    device: str = "auto",
    budget_s: float = 10.0,
    runs: str | None = None,
) -> Task:
    """Problems of a level, a variant, or one problem. `runs`: a name under which killed runs are continued; without one every eval is new."""
    problems = [find_problem(problem)] if problem else list_problems(variant, level)
    asked = Settings(language=language, precision=precision, budget_s=budget_s)  # type: ignore[arg-type]
    return make_task(problems, find_tier(tier), asked, device=device, salt=runs or uuid.uuid4().hex)


def open_sample(
    state: TaskState,
    place: Place,
    problem: Problem,
    row: Row,
    tier: Tier,
    settings: Settings,
    budget: Budget,
    folder: Path,
    *,
    repeat: int = 1,
    salt: str = "",
    observe: Observer = lambda *_: None,
) -> Recorder:
    """Open the run of the sample that is being worked on, or go on with the one that its journal holds; its first messages are in `state`."""
    adjusted = Settings(**{**vars(settings), "language": language_here(settings.language, row.provider, place)})
    bench = Workbench(place, problem, adjusted)
    system, asked = write_system(tier, budget), write_task(problem, adjusted, place)
    identity = run_id(bench, row.name, tier, budget, repeat, salt)
    fresh = open_run(bench, row.name, tier, budget, repeat, identity, f"{system}\n{asked}", reference_shown(problem, place))
    recorder = inspect_tools.OPEN[identity] = Recorder(fresh, folder / identity, bench, row, tier, budget, observe)
    store().set(inspect_tools.STORE_KEY, identity)
    state.messages = [ChatMessageSystem(content=system), ChatMessageUser(content=asked, source="input")]
    return recorder


def make_task(
    problems: list[Problem],
    tier: Tier,
    settings: Settings,
    *,
    place: Place | None = None,
    device: str = "auto",
    budget: Budget | None = None,
    row: Row | None = None,
    folder: Path | None = None,
    salt: str = "",
    observe: Observer = lambda *_: None,
) -> Task:
    """The task of these problems, with everything that it needs handed in or opened at the first sample."""
    budget, folder = budget or Budget.of(tier), folder or runs_folder()

    @solver(name=named("prepare"))
    def prepare() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            here = place if place is not None else await asyncio.to_thread(place_of, device)
            model = row or find_model(str(get_model()).removeprefix("popcorn/"))
            chosen = find_problem(str(state.metadata["problem"]))
            here.check(chosen)
            open_sample(state, here, chosen, model, tier, settings, budget, folder, repeat=state.epoch, salt=salt, observe=observe)
            state.tools = inspect_tools.make_tools(tier.tools)
            return state

        return solve

    async def forget(state: TaskState) -> None:
        inspect_tools.OPEN.pop(state.store.get(inspect_tools.STORE_KEY, ""), None)

    samples = [
        Sample(id=one.id, input=f"{one.id} ({one.name})", metadata={"problem": one.path if one.origin != "suite" else one.id})
        for one in problems
    ]
    return Task(
        dataset=samples, setup=prepare(), solver=kernel_writer(), scorer=judged(), cleanup=forget, name="kernels", fail_on_error=False,
        metadata={"tier": tier.name, "language": settings.language, "precision": settings.precision},
    )  # fmt: skip


@scorer(metrics={"correct": [mean(), stderr()], "speedup": [mean(), stderr()]}, name=named("judged"))
def judged() -> Scorer:
    """What the evaluator said of the final kernel; a run that another package's agent made is settled here first."""

    async def score(state: TaskState, target: Target) -> Score:
        recorder = inspect_tools.current()
        run = recorder.ended or await adopt(recorder, state.messages)
        told = run.model_dump(include={"id", "outcome", "record_id", "ended_by", "submitted_by", "tier", "language"})
        # a failure counts as 0×, and the outcome says so; geometric means over failures are scoring's business
        value: dict[str, str | int | float | bool | None] = {"correct": int(run.outcome == "correct"), "speedup": run.speedup or 0.0}
        return Score(value=value, answer=run.candidate, metadata=told)

    return score
