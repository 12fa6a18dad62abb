"""`popcorn problems import`: other people's problems, made usable by id."""

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from popcorn.suites.importing.shelf import Suite

FEW = 20
"""So many files are all shown; of more only those with something to say."""


def import_command(
    format: Annotated[
        str,
        typer.Argument(help="auto, kernelbench, popcornbench, robust_kbench, custom_task, flashinfer, gpu_mode, leetgpu, tensara, cases"),
    ],
    path: Annotated[str, typer.Argument(help="folder of a checkout or of a task; or .json, .jsonl, .csv, .parquet with a column of code")],
    name: Annotated[str | None, typer.Option(help="what ids begin with; default: the format's name")] = None,
    device: Annotated[str, typer.Option(help="where each file is tried: auto, cpu, cuda or cuda:INDEX")] = "auto",
    every: Annotated[bool, typer.Option("--every", help="a row for every file, those without a remark too")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="the suite as one JSON object")] = False,
) -> None:
    """Import a folder of another benchmark, unmodified. Each file is tried in a fenced process; what cannot run says why.

    Exit code 0 where at least one problem can be used, 1 where none can.
    """
    from popcorn.cli.listing import lay_out, width_here
    from popcorn.cli.plain import plain
    from popcorn.cli.progress import progress_line
    from popcorn.suites.importing import shelf
    from popcorn.worker.bench import Bench
    from popcorn.worker.bringing import bring_suite, open_folder

    with open_folder(path) as folder, progress_line() as progress, Bench(device) as bench:
        suite = bring_suite(folder, bench, name, format, progress)
        further = _further(folder, suite)
    usable = [one for one in suite.entries if one.file]
    if as_json:
        typer.echo(suite.model_dump_json(indent=1))
        raise typer.Exit(0 if usable else 1)
    shown = [one for one in suite.entries if every or len(suite.entries) <= FEW or one.state != "runs" or one.remarks]
    rows = []
    for one in shown:
        told = "; ".join(filter(None, [one.reason, *one.remarks]))
        state = {"runs": "runs", "shapes": "too large", "refused": "cannot run"}[one.state]
        rows.append((plain(one.where, 60), f"{suite.name}/{one.key}" if one.file else "", state, plain(told, 400)))
    if rows:
        columns = 4 if any(told for *_, told in rows) else 3
        headings = ("file", "id", "state", "why, or what was done")[:columns]
        for line in lay_out(headings, [row[:columns] for row in rows], width_here(), folding=(0, 1, 3)[: columns - 1]):
            typer.echo(line)
    states = [one.state for one in suite.entries]
    told = (
        f"{suite.name}, version {suite.version}: {len(states)} file{'' if len(states) == 1 else 's'}; {states.count('runs')} run, "
        f"{states.count('shapes')} are too large for this machine, {states.count('refused')} cannot run."
        + ("" if len(shown) == len(states) else " --every shows a row for each.")
        + (f" Left out, without a class Model: {_some(further)}." if further else "")
    )
    typer.echo(textwrap.fill(told, width_here()))
    if others := shelf.others(suite):
        last = others[-1]
        told = f"{suite.name}/… was version {last.version} before ({len(last.entries)} files), which is {suite.name}@{last.version}/… now; --name gives a set a name of its own."
        typer.echo(textwrap.fill(told, width_here(), break_on_hyphens=False))
    if usable:
        typer.echo(f"next: popcorn problems check --suite {suite.name} (can they judge anything?)")
        typer.echo(f"      popcorn eval {suite.name}/{usable[0].key} FILE")
    raise typer.Exit(0 if usable else 1)


def _further(folder: Path, suite: "Suite") -> list[str]:
    """Names of Python files that were taken for no problem, where a problem is any file with a Model."""
    from popcorn.suites.importing.found import files_below

    taken = {one.where for one in suite.entries}
    paths = files_below(folder, ".py") if suite.format == "kernelbench" else []
    return [path.name for path in paths if str(path.relative_to(folder.resolve())) not in taken]


def _some(names: list[str]) -> str:
    """The first three and how many more."""
    from popcorn.cli.plain import plain

    more = f" and {len(names) - 3} more .py files" if len(names) > 3 else ""
    return ", ".join(plain(name, 60) for name in names[:3]) + more
