"""`popcorn sweep`: plan, submit, watch, resume, status, stop, merge."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from popcorn.cli.sweep_results import results_command

app = typer.Typer(
    help="Sweeps: agents over problems, implementations over cases.", no_args_is_help=True, add_completion=False, rich_markup_mode=None
)

Run = Annotated[str | None, typer.Argument(help="A sweep's folder or name; the newest when left out.")]
File = Annotated[str, typer.Argument(help="A TOML file, or the name of one in sweeps/.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else.")]
Gpus = Annotated[int | None, typer.Option(min=1, help="Devices to use; all that are here when left out.")]
Folder = Annotated[Path | None, typer.Option(help="Where the sweep's folder lies.")]
app.command("results")(results_command)
Watch = Annotated[bool, typer.Option("--watch", help="Follow it; stopping the watcher stops nothing.")]
Image = Annotated[str | None, typer.Option(help="Container image for every Slurm task (Pyxis); resumes inherit it.")]


class Spread(TyperCommand):
    """`--ops attn softmax` means `--ops attn --ops softmax`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat the option before each further value."""
        spread: list[str] = []
        for arg in args:
            listed = len(spread) > 1 and spread[-2] in ("--ops", "--phases") and not arg.startswith("-")
            spread += [spread[-2], arg] if listed else [arg]
        return super().parse_args(ctx, spread)


@app.command("plan")
def plan_command(file: File, gpus: Gpus = None, json: Json = False) -> None:
    """Show the jobs, what is done already, and the expected hours, tokens and money. Spends nothing."""
    from popcorn.cli.sweeping import show_plan

    show_plan(file, gpus, json)


@app.command("submit", cls=Spread)
def submit_command(
    file: Annotated[str | None, typer.Argument(help="A TOML file, or a name in sweeps/; the op sweep h100_kernels when left out.")] = None,
    local: Annotated[bool, typer.Option("--local", help="On this machine, in this process.")] = False,
    ray: Annotated[str | None, typer.Option(help="On a Ray cluster at this address; `auto` finds one.")] = None,
    nodes: Annotated[int, typer.Option(min=1, max=10, help="Slurm nodes of eight GPUs.")] = 6,
    gpus: Gpus = None,
    folder: Folder = None,
    phases: Annotated[list[str] | None, typer.Option(help="Op sweep: only these backends, one or several.")] = None,
    ops: Annotated[list[str] | None, typer.Option(help="Op sweep: only these ops, one or several.")] = None,
    curves_only: Annotated[bool, typer.Option("--curves-only", help="Op sweep: leave the sparse coverage out.")] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Op sweep: so many cases of each op.")] = None,
    reps: Annotated[int | None, typer.Option(min=1, help="Op sweep: rows of each case.")] = None,
    minutes: Annotated[int, typer.Option(min=1, help="Slurm: walltime of one job; it resubmits itself.")] = 1440,
    drain: Annotated[int, typer.Option(min=1, help="Slurm: seconds before the walltime at which nothing new begins.")] = 600,
    slurm: Annotated[list[str] | None, typer.Option(help="Slurm: NAME=VALUE of sbatch, such as qos=high.")] = None,
    gpus_per_node: Annotated[int, typer.Option(min=1, help="Slurm: GPU workers a node.")] = 8,
    container_image: Image = None,
    watch: Watch = False,
    json: Json = False,
) -> None:
    """Start a sweep, or go on with the one of the same name.

    Without --local it queues one exclusive, singleton Slurm job named popcorn-sweep. Ctrl-C drains a local one; a second Ctrl-C lets go.
    """
    from popcorn.cli.sweeping import submit

    over = {
        "ops": list(ops) if ops else None,
        "phases": list(phases) if phases else None,
        "curves_only": curves_only or None,
        "limit": limit,
        "reps": reps,
    }
    how = {
        "nodes": nodes,
        "gpus": gpus,
        "minutes": minutes,
        "drain_s": drain,
        "gpus_per_node": gpus_per_node,
        "container_image": container_image,
    }
    submit(file, {name: value for name, value in over.items() if value is not None}, how, local, ray, folder, slurm or [], watch, json)


@app.command("resume")
def resume_command(
    run: Run = None,
    retry: Annotated[bool, typer.Option("--retry", help="Also what gave up or was left out.")] = False,
    anew: Annotated[
        bool, typer.Option("--anew", help="Also where Popcorn or a problem changed, so that what was done counts no more.")
    ] = False,
    container_image: Image = None,
    watch: Watch = False,
    json: Json = False,
) -> None:
    """Go on with a sweep, as it was submitted: what is missing, and nothing else."""
    from popcorn.cli.sweeping import resume

    resume(run, retry, anew, container_image, watch, json)


@app.command("watch")
def watch_command(run: Run = None) -> None:
    """Follow a sweep until it is done. Stopping the watcher stops nothing."""
    from popcorn.cli.sweeping import watch
    from popcorn.sweep.folder import find_sweep

    watch(find_sweep(run))


@app.command("status")
def status_command(
    run: Run = None,
    models: Annotated[bool, typer.Option("--models", help="Also a line for each model and tier.")] = False,
    json: Json = False,
) -> None:
    """What is done, what is under way, who does it."""
    from popcorn.cli.sweeping import show_status

    show_status(run, json, models)


@app.command("list")
def list_command(json: Json = False) -> None:
    """The sweeps that were submitted here, the newest first."""
    from popcorn.cli.sweeping import list_sweeps

    list_sweeps(json)


@app.command("stop")
def stop_command(
    run: Run = None, now: Annotated[bool, typer.Option("--now", help="Let go of what is under way; it goes on when resumed.")] = False
) -> None:
    """Drain a sweep: nothing new begins, what is under way ends."""
    from popcorn.cli.sweeping import stop

    stop(run, now)


@app.command("merge")
def merge_command(
    sources: Annotated[list[Path], typer.Argument(help="Folders of records, of runs, or of sweeps; JSONL files.")],
    to: Annotated[Path | None, typer.Option(help="The cache folder to add to; the user's own when left out.")] = None,
    scrub_incomplete: Annotated[bool, typer.Option("--scrub-incomplete", help="Leave out what was scheduled and never measured.")] = False,
    json: Json = False,
) -> None:
    """Bring shards, nodes and sweeps together. Nothing is removed there; conflicts are told, and the newest conclusive answer counts."""
    from popcorn.cli.sweeping import merge

    merge(sources, to, scrub_incomplete, json)
