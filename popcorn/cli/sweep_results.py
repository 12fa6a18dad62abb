"""`popcorn sweep results`: a sweep's scores as text, CSV, Markdown, LaTeX or JSON."""

import json
import textwrap
from collections import Counter
from typing import Annotated, Any, Literal

import typer

Runs = Annotated[list[str] | None, typer.Argument(help="Folders or names of sweeps, side by side; the newest when left out.")]


Form = Literal["text", "csv", "markdown", "latex", "json"]
"""How a table is written."""


def results_command(
    runs: Runs = None,
    by: Annotated[Literal["level", "problem"], typer.Option(help="A row a level, model and tier; or a row a job.")] = "level",
    form: Annotated[Form, typer.Option("--format", help="csv and json keep every digit; markdown and latex are for a paper.")] = "text",
    earlier: Annotated[
        bool, typer.Option("--earlier", help="Count missing jobs as they ended under another version or other settings.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="The same as --format json: an object, of several sweeps a list of them.")
    ] = False,
) -> None:
    """What the models of a sweep reached: correct, fast_1, speedups, tokens, money, with every planned problem counted."""
    from popcorn.cli.listing import width_here
    from popcorn.cli.result_tables import WRITERS
    from popcorn.errors import BadSweep
    from popcorn.sweep.folder import find_sweep
    from popcorn.sweep.results import MEANING, by_level, by_problem, results

    found: list[dict[str, Any]] = []
    newest: list[str | None] = [None]
    for run in runs or newest:
        folder = find_sweep(run)
        if folder.spec().matrix.kind == "ops":
            raise BadSweep(f"{folder.path} measured ops, which have no models; see `popcorn bench view`.")
        plan, attempts, standings = results(folder, earlier)
        rows = by_level(standings) if by == "level" else by_problem(attempts)
        devices = dict(Counter(one.device for one in attempts if one.device).most_common())
        counts = {"jobs": len(plan.jobs), "missing": len(plan.missing), "outdated": plan.outdated, "devices": devices}
        found.append({"sweep": plan.matrix.name, **counts, "rows": rows, "meaning": MEANING})
    if as_json or form == "json":
        print(json.dumps(found if len(found) > 1 else found[0]))
        return
    rows = [({"sweep": one["sweep"]} if len(found) > 1 else {}) | row for one in found for row in one["rows"]]
    if rows:
        print(WRITERS[form](rows), end="")
        if by == "level" and form != "csv":
            mark = "% " if form == "latex" else ""
            print("\n" + textwrap.fill(MEANING, width_here(), initial_indent=mark, subsequent_indent=mark))
        elif form == "text":
            print("\nA dash: no correct kernel, or the machine's controls failed when it was timed, so that its speedup claims nothing.")
    else:
        typer.echo("no job has ended yet; `popcorn sweep status` says what is under way", err=True)
    for one in found:
        if one["missing"]:
            typer.echo(f"{one['sweep']} is not finished: {one['missing']:,} of {one['jobs']:,} jobs are missing", err=True)
        if one["outdated"]:
            counted = "counted here" if earlier else "--earlier counts them"
            typer.echo(f"{one['outdated']:,} of them ended under another version of Popcorn or other settings; {counted}", err=True)
    kinds = Counter[str]()
    for one in found:
        kinds.update(one["devices"])
    if len(kinds) > 1:
        typer.echo(
            f"measured on {len(kinds)} kinds of device, whose speedups should not be compared or averaged; --by problem tells which is which:",
            err=True,
        )
        for kind, count in kinds.most_common():
            typer.echo(f"  {count:,} kernels on {kind}", err=True)
    if not rows:
        raise typer.Exit(1)
