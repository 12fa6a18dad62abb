"""Jobs of agents, many at once over the places of this process, as one Inspect task whose samples are jobs. Needs Inspect.

Inspect allows one evaluation a process, so a whole batch is one: models, tiers and places differ by sample. The journal of each run is its memory: a
batch that is killed and started again goes on with every run where it stopped.
"""

import asyncio
import errno
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from inspect_ai import Task, eval_async
from inspect_ai.dataset import Sample
from inspect_ai.model import Model
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import store
from inspect_ai.util._display import init_display_type

from popcorn.agents import inspect_tools
from popcorn.agents.loop import work
from popcorn.agents.models import open_model
from popcorn.agents.place import Place
from popcorn.agents.recorder import Recorder
from popcorn.agents.task import open_sample
from popcorn.errors import BadAgent, PopcornError, UnwritableStore
from popcorn.records.runs import FILE
from popcorn.sweep.jobs import Job, question_of

if TYPE_CHECKING:
    from popcorn.sweep.session import Session

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
AT_ONCE = 2000
"""Jobs of one Inspect evaluation; more are done in several, one after the other."""


async def run_batch(jobs: list[Job], session: "Session") -> None:
    """Carry out those that nobody else claims; each one's end is told to the session. Stops early when the session stops."""
    init_display_type("none")
    models: dict[str, Model] = {}
    for first in range(0, len(jobs), AT_ONCE):
        if session.stopping:
            return
        part = jobs[first : first + AT_ONCE]
        await eval_async(
            _task(part, session, models), model="none/none", max_samples=session.agents, log_dir=str(session.folder.path / "inspect"), log_samples=False,
            ctl_server=False, score_display=False, log_realtime=False, score=False,
        )  # fmt: skip


def _task(jobs: list[Job], session: "Session", models: dict[str, Model]) -> Task:
    by_id = {job.id: job for job in jobs}

    @solver(name="popcorn/job")
    def job_solver() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            job = by_id[str(state.metadata["job"])]
            if session.stopping or not session.claim(job):
                return state
            place = session.take(job)
            try:
                await _carry_out(job, place, state, session, models)
            except asyncio.CancelledError:
                raise
            except PopcornError as refusal:
                if isinstance(refusal, UnwritableStore):  # no failure of the job: it is done when there is room again
                    session.stop("drain", f"{job.problem} {job.model}: nothing can be kept: {refusal}")
                else:
                    session.refused(job, str(refusal))
            except Exception as fault:
                if isinstance(fault, OSError) and fault.errno in _FULL:
                    session.stop("drain", f"{job.problem} {job.model}: nothing can be kept: {fault}")
                    return state
                session.failed(job, "infrastructure", f"{type(fault).__name__}: {fault}")
            finally:
                session.give_back(job)
            return state

        return solve

    samples = [Sample(id=job.id, input=job.problem, metadata={"job": job.id}) for job in jobs]
    return Task(dataset=samples, solver=job_solver(), name="sweep", fail_on_error=False)


async def _carry_out(job: Job, place: Place, state: TaskState, session: "Session", models: dict[str, Model]) -> None:
    asked = question_of(session.matrix, job)
    place.check(asked.problem)
    row, tier = asked.row, asked.tier
    if row.name not in models:
        models[row.name] = open_model(row)

    def observe(what: str, recorder: Recorder) -> None:
        session.observe(job, what, recorder)

    recorder = open_sample(
        state, place, asked.problem, row, tier, asked.settings, asked.budget, session.runs, repeat=job.repeat, salt=job.id, observe=observe
    )
    identity = recorder.run.id
    try:
        if recorder.ended is None:
            await work(recorder, models[row.name], state.messages, inspect_tools.make_tools(tier.tools))
    finally:
        inspect_tools.OPEN.pop(str(store().get(inspect_tools.STORE_KEY)), None)
    run = recorder.ended
    if run is None:
        raise BadAgent(f"the run {identity} did not end")
    if run.ended_by == "error":
        _set_aside(session.runs / identity, session.cache, goes_on=True)
        session.failed(job, "api_error", run.reason or "the provider gave no reason", run, goes_on=True)
    elif run.outcome == "harness_error":
        goes_on = recorder.journal.fault_came_last()
        _set_aside(session.runs / identity, session.cache, goes_on)
        session.failed(
            job, "infrastructure", recorder.journal.fault() or f"the evaluation {run.record_id} is a fault of the harness", run, goes_on
        )
    else:
        session.ended(job, run)


def _set_aside(folder: Path, cache: Path, goes_on: bool = False) -> None:
    """A failed attempt is kept, but where no table or page looks for runs. One that goes on leaves its journal, and nothing else: the next attempt
    reads from it what was paid for."""
    attempts = cache / "attempts"
    attempts.mkdir(parents=True, exist_ok=True)
    number = 1
    while (there := attempts / f"{folder.name}.{number}").exists():
        number += 1
    if not goes_on:
        folder.rename(there)
        return
    shutil.copytree(folder, there)
    (folder / FILE).unlink(missing_ok=True)
