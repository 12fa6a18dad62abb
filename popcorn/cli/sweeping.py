"""What the commands of `popcorn sweep` do: call, then print."""

import importlib.util
import json as json_text
import time
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import typer

from popcorn.cli.listing import lay_out, width_here
from popcorn.errors import BadSweep, MissingTool
from popcorn.sweep.folder import SweepFolder, find_sweep
from popcorn.sweep.matrix import Matrix, make_matrix, read_matrix
from popcorn.units import UNKNOWN, show_hours

if TYPE_CHECKING:
    from rich.console import Console

    from popcorn.sweep.plan import Plan

COSTS = "tokens, money: expected of what is missing; basis: a guess from budgets, or measured on jobs that ended"


def console(stderr: bool = False) -> "Console":
    """Plain and narrow enough."""
    from rich.console import Console

    from popcorn.cli.printing import WIDTH

    made = Console(highlight=False, emoji=False, markup=False, stderr=stderr)
    return (
        made if made.is_terminal and made.width < WIDTH else Console(highlight=False, emoji=False, markup=False, stderr=stderr, width=WIDTH)
    )


def gpus_here(gpus: int | None) -> int:
    """Devices that a local sweep would use."""
    from popcorn.devices.probe import devices

    return gpus or max(1, sum(name.startswith("cuda") for name in devices()))


def show_plan(file: str, gpus: int | None, json: bool) -> None:
    """Jobs, hours, tokens, money."""
    from popcorn.home import cache_folder
    from popcorn.sweep.done import Done
    from popcorn.sweep.plan import make_plan
    from popcorn.sweep.showing import plan_facts

    matrix = read_matrix(file)
    if matrix.kind == "ops":
        from popcorn.sweep.filling import plan_ops

        facts = plan_ops(matrix)
        if json:
            print(json_text.dumps(facts))
        else:
            console().print(facts["text"])
        return
    plan = make_plan(matrix, Done(cache_folder()))
    count = gpus_here(gpus)
    print(json_text.dumps(plan_facts(plan, count)) if json else "\n".join(plan_lines(plan, count)))


def cell_lines(cells: list[dict[str, Any]]) -> list[str]:
    """A line a model and tier: what is done, what gave up or is left out, what is missing and would cost."""
    rows = [
        (
            cell["model"], cell["tier"], str(cell["jobs"]), str(cell["done"]), str(cell["given_up"] + cell["refused"]), str(cell["missing"]),
            f"{cell['tokens'] or 0:,}", UNKNOWN if cell["dollars"] is None else f"${cell['dollars']:,.2f}", "measured" if cell["measured"] else "guess",
        )
        for cell in cells
    ]  # fmt: skip
    headings = ("model", "tier", "jobs", "done", "gave up", "missing", "tokens", "money", "basis")
    return [*lay_out(headings, rows, width_here(), folding=(0, 1), right=range(2, 8)), *wrapped(COSTS)]


def wrapped(sentence: str) -> list[str]:
    """A sentence as lines that fit the terminal."""
    return wrap(sentence, width_here(), break_long_words=False, break_on_hyphens=False)


def plan_lines(plan: "Plan", gpus: int) -> list[str]:
    """A plan for people: a line a model and tier, then the sum."""
    from popcorn.sweep.showing import outdated_line

    lines = cell_lines([vars(cell) for cell in plan.cells])
    devices = f"{gpus} device{'s' if gpus != 1 else ''} × {plan.matrix.agents_per_gpu} agents"
    lines += [
        f"{plan.matrix.name}: {len(plan.jobs):,} job{'' if len(plan.jobs) == 1 else 's'}, {plan.done:,} done, {len(plan.missing):,} missing",
        f"expected: {show_hours(plan.hours(gpus)) if plan.missing else 'nothing'} on {devices} · {plan.tokens:,} tokens · ${plan.dollars:,.2f}",
    ]
    if plan.unpriced:
        lines += wrapped(f"not in the money: {', '.join(plan.unpriced)} (no price is written down)")
    lines += unset_lines(plan)
    if plan.outdated:
        lines += wrapped(outdated_line(plan.outdated, plan.outdated_by))
    left = (
        (sum(cell.given_up for cell in plan.cells), "gave up after their retries; `sweep resume --retry` tries again"),
        (sum(cell.refused for cell in plan.cells), "cannot be done here; the reasons are in the log"),
    )
    return lines + [f"{count} jobs {what}" for count, what in left if count]


def unset_lines(plan: "Plan") -> list[str]:
    """A line a key that is not set here, with the models that need it."""
    return [
        line
        for key, models in plan.unset_keys.items()
        for line in wrapped(f"{key} is not set here: the jobs of {', '.join(models)} would be left out")
    ]


def submit(
    file: str | None, over: dict[str, Any], how: dict[str, Any], local: bool, ray: str | None, folder: Path | None, slurm: list[str], watching: bool, json: bool
) -> None:  # fmt: skip
    """Read the matrix, make the folder, start it."""
    from popcorn.sweep.done import Done
    from popcorn.sweep.plan import make_plan
    from popcorn.sweep.showing import outdated_line
    from popcorn.sweep.submitting import prepare

    if local and how["container_image"]:
        raise BadSweep("--container-image needs Slurm with Pyxis and cannot be used with --local; leave one of them out.")
    matrix = with_ops(read_matrix(file or "h100_kernels"), over)
    bad = [one for one in slurm if "=" not in one]
    if bad:
        raise BadSweep(f"--slurm {bad[0]!r}: expected NAME=VALUE, such as qos=high.")
    engine = "local" if local else "ray" if ray else "slurm"
    spec = {**how, "engine": engine, "slurm": dict(one.split("=", 1) for one in slurm), "ray_address": ray}
    spec["fresh_environments"] = matrix.kind == "ops"
    made = prepare(matrix, folder, own_cache=engine == "slurm" or matrix.kind == "ops", **spec)
    if matrix.kind == "agents":
        plan = make_plan(matrix, Done(Path(made.spec().cache)))
        told = wrapped(outdated_line(plan.outdated, plan.outdated_by)) if plan.outdated else []
        for line in told + unset_lines(plan):
            typer.echo(line, err=True)
    start(made, watching, json)


def with_ops(matrix: Matrix, over: dict[str, Any]) -> Matrix:
    """An op sweep with some of its keys replaced."""
    if not over:
        return matrix
    if matrix.ops is None:
        raise BadSweep(f"--{next(iter(over)).replace('_', '-')} belongs to op sweeps, and {matrix.name} is one of agents; leave it out.")
    tables = matrix.model_dump(mode="json")
    tables["ops"] |= over
    return make_matrix(tables, matrix.name)


def start(folder: SweepFolder, watching: bool, json: bool) -> None:
    """Carry it out with its engine."""
    spec = folder.spec()
    if spec.engine == "slurm":
        from popcorn.sweep.slurm import queue

        job = queue(folder)
        typer.echo(f"queued as Slurm job {job}; `popcorn sweep watch {folder.path}` follows it", err=json)
        if watching:
            watch(folder)
        if json:
            print(json_text.dumps({"folder": str(folder.path), "slurm_job": job}))
        return
    if spec.matrix.kind == "agents" and importlib.util.find_spec("inspect_ai") is None:
        raise MissingTool("sweeps of agents need Inspect: pip install 'popcornbench[agents]'")
    from popcorn.cli.sweep_view import following
    from popcorn.sweep.submitting import run_here

    with following(folder, quiet=json):
        if spec.engine == "ray":
            from popcorn.sweep.ray_engine import opener

            session = run_here(folder, opener(spec.ray_address, folder))
        else:
            session = run_here(folder)
    facts = show_status(str(folder.path), json)
    raise typer.Exit(130 if session.stopping else 1 if facts["jobs"] and not facts["done"] else 0)


def resume(run: str | None, retry: bool, anew: bool, image: str | None, watching: bool, json: bool) -> None:
    """As it was submitted."""
    from popcorn.sweep.done import Done
    from popcorn.sweep.jobs import fingerprint
    from popcorn.sweep.plan import make_plan
    from popcorn.sweep.showing import outdated_line

    folder = find_sweep(run)
    spec = folder.spec()
    if spec.matrix.kind == "agents":
        done = Done(Path(spec.cache))
        plan = make_plan(spec.matrix, done)
        asked = fingerprint(plan.jobs)
        if plan.outdated and asked != spec.asked and not anew:
            told = outdated_line(plan.outdated, plan.outdated_by)
            raise BadSweep(f"{told}: go on with `--anew`, or with what was changed as it was.")
        spec = spec.model_copy(update={"asked": asked})
        folder.keep(spec)
        for line in unset_lines(plan):
            typer.echo(line, err=True)
        if retry:
            done.forgive([job.id for job in plan.jobs if job.id not in plan.known.done], spec.matrix.name)
    if image is not None:
        if spec.engine == "local":
            raise BadSweep("--container-image needs Slurm with Pyxis, and this sweep is a local one; leave it out.")
        spec = spec.model_copy(update={"container_image": image})
        folder.keep(spec)
    folder.undrain()
    start(folder, watching, json)


def watch(folder: SweepFolder, every_s: float = 2.0) -> None:
    """Draw it until nobody works on it."""
    from rich.live import Live

    from popcorn.sweep.showing import sweep_facts, sweep_table

    with Live(sweep_table(sweep_facts(folder)), console=console(), refresh_per_second=2) as live:
        waited = 0
        while True:
            facts = sweep_facts(folder)
            live.update(sweep_table(facts))
            waited = 0 if facts["state"] == "running" else waited + 1
            if facts["state"] in ("done", "ended") or (waited > 30 and facts["engine"] != "slurm"):
                return
            time.sleep(every_s)


def show_status(run: str | None, json: bool, models: bool = False) -> dict[str, Any]:
    """Once; what was shown, as data."""
    from popcorn.cli.printing import print_within
    from popcorn.sweep.showing import sweep_facts, sweep_table

    facts = sweep_facts(find_sweep(run))
    if json:
        print(json_text.dumps(facts))
        return facts
    print_within(sweep_table(facts), console())
    if models and facts.get("cells"):
        print("\n".join(["", *cell_lines(facts["cells"])]))
    return facts


def list_sweeps(json: bool) -> None:
    """A line a sweep; one that cannot be read says why."""
    from popcorn.errors import PopcornError
    from popcorn.sweep.folder import sweeps
    from popcorn.sweep.showing import sweep_facts

    told: list[dict[str, Any]] = []
    for folder in sweeps():
        try:
            told.append(sweep_facts(folder))
        except PopcornError as error:
            told.append({"sweep": folder.path.name, "folder": str(folder.path), "state": "unreadable", "reason": str(error)})
    if json:
        print(json_text.dumps(told))
        return
    rows = [
        (one["sweep"], one["state"], f"{one['done']:,} of {one['jobs']:,}" if "jobs" in one else UNKNOWN,
         f"${one['dollars']:,.2f}" if "dollars" in one else UNKNOWN, one.get("reason") or one["folder"])
        for one in told
    ]  # fmt: skip
    if rows:
        print("\n".join(lay_out(("sweep", "state", "done", "spent", "folder"), rows, width_here(), folding=(0, 4), right=(2, 3))))
    else:
        typer.echo("no sweep was submitted here yet; `popcorn sweep submit sweeps/smoke.toml --local` starts one", err=True)


def stop(run: str | None, now: bool) -> None:
    """Ask it to stop."""
    from popcorn.sweep.showing import sweep_facts

    folder = find_sweep(run)
    state = sweep_facts(folder)["state"]
    if state in ("done", "ended"):
        typer.echo(f"{folder.path} is {'done' if state == 'done' else 'at its end'}; there is nothing to stop")
        return
    folder.drain(now)
    typer.echo(f"{folder.path} {'lets go of what is under way' if now else 'drains: nothing begins, what is under way ends'}")
    typer.echo(f"`popcorn sweep resume {run or folder.path.name}` goes on with it")


def merge(sources: list[Path], to: Path | None, scrub: bool, json: bool) -> None:
    """Bring caches together."""
    from popcorn.home import cache_folder
    from popcorn.sweep.merging import merge_caches

    told = merge_caches(sources, to or cache_folder(), scrub)
    if json:
        print(json_text.dumps(vars(told)))
        return
    typer.echo(f"{told.records} records, {told.runs} runs, {told.jobs} ends of jobs added; {told.scrubbed} incomplete rows left out")
    for conflict in told.conflicts:
        typer.echo(f"conflict: {conflict}", err=True)
