"""`popcorn problems list` and `popcorn problems show`: which problems there are, and one of them as an agent sees it."""

import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from popcorn.suites.problems import Problem, facts, find_problem, list_problems, statement
from popcorn.suites.statement import describe_range
from popcorn.units import show_bytes, show_count

WIDTH = 100
"""Columns of the table, so that it fits a terminal split in two."""

app = typer.Typer(
    help="The problems: list them, show one, or check that one is fit.", no_args_is_help=True, add_completion=False, rich_markup_mode=None
)


@app.command("list")
def list_command(
    variant: Annotated[str | None, typer.Option(help="popcorn (sizes drawn per trial) or original (fixed sizes)")] = None,
    level: Annotated[int | None, typer.Option(help="1 operators, 2 fused operators, 3 blocks")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON array instead of a table")] = False,
) -> None:
    """List the problems that ship with Popcorn."""
    problems = list_problems(variant, level)
    if as_json:
        typer.echo(json.dumps([_row(one) for one in problems], indent=1, ensure_ascii=False))
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("id", "name", "domain", "sizes", "backward"):
        table.add_column(heading, no_wrap=heading in ("id", "domain"), overflow="fold")
    for one in problems:
        told = facts(one)
        sizes = " ".join(f"{name}={describe_range(dim)}" for name, dim in told.dims.items())
        table.add_row(one.id, one.name.replace("_", " "), told.domain, sizes, _backward(told.differentiable))
    Console(width=WIDTH).print(table)


@app.command("show")
def show_command(
    problem: Annotated[str, typer.Argument(help="id such as popcorn/L1/29, or the path of a .py file")],
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object")] = False,
) -> None:
    """Show a problem as an agent sees it, with the least bytes and flops that its sizes ask for."""
    found = find_problem(problem)
    bounds = _bounds(found)
    if as_json:
        typer.echo(json.dumps({**_row(found), "bounds": bounds, "statement": statement(found)}, indent=1, ensure_ascii=False))
        return
    typer.echo(statement(found))
    typer.echo(f"# {found.id} {found.name}, hash {found.hash}")
    if bounds["min_bytes"] is None and bounds["flops"] is None:
        typer.echo("# least bytes and flops: not declared")
    else:
        typer.echo(f"# at least {_span(bounds['min_bytes'], show_bytes)} to move in float32, {_span(bounds['flops'], _flop)} to do")
    small = {name: int(dim.at("cpu")) for name, dim in facts(found).dims.items()}
    if small and any(small[name] != int(dim) for name, dim in facts(found).dims.items()):
        typer.echo("# on a machine without a GPU: about " + ", ".join(f"{name}={size}" for name, size in small.items()))


@app.command("check")
def check_command(
    problem: Annotated[str | None, typer.Argument(help="id such as popcorn/L1/29, or the path of a .py file")] = None,
    every: Annotated[bool, typer.Option("--all", help="every problem that ships with Popcorn")] = False,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:INDEX")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="one JSON array instead of a table")] = False,
) -> None:
    """Is a problem fit to judge anything? Trivial answers must fail, every input and weight must matter. Exit code 1 where one is unfit."""
    from popcorn.errors import UnknownProblem

    if (problem is None) is not every:
        raise UnknownProblem("give one problem, or --all for every problem that ships with Popcorn")
    told = _examined(list_problems() if every else [find_problem(problem or "")], device)
    if as_json:
        typer.echo(json.dumps(told, indent=1, ensure_ascii=False))
    else:
        table = Table(box=None, header_style="bold", pad_edge=False)
        for heading in ("id", "fit", "what is wrong, or worth knowing"):
            table.add_column(heading, no_wrap=heading == "id", overflow="fold")
        for row in told:
            shown = [f"{c['rule']}: {c['found'] or 'no'}" for c in row["checks"] if not c["passed"]] or [
                c["found"] for c in row["checks"] if c["found"]
            ]
            table.add_row(row["id"], "yes" if row["fit"] else "NO", "; ".join(shown))
        Console(width=WIDTH, highlight=False).print(table)
    raise typer.Exit(0 if all(row["fit"] for row in told) else 1)


def _examined(problems: list[Problem], device: str) -> list[dict[str, Any]]:
    """Each problem in an oracle of its own."""
    from popcorn.cli.progress import progress_line
    from popcorn.errors import HarnessFailure
    from popcorn.worker.bench import Bench

    told = []
    with progress_line() as progress, Bench(device) as bench:
        for one in problems:
            progress(one.id)
            shared = bench.new_folder("shared")
            for name in ("in", "out"):
                (shared / name).mkdir(mode=0o700)
            with bench.start("oracle", bench.new_folder("oracle"), shared) as oracle:
                opening = {"problem": one.model_dump(), "size": "full" if bench.cuda else "cpu", "precision": "float32", "gradient": False}
                reply = oracle.ask({"do": "open", **opening}, 120)
                reply = oracle.ask({"do": "examine"}, 600) if "ok" in reply else reply
            if reply.get("failed", {}).get("outcome") == "harness_error":
                raise HarnessFailure(f"{one.id}: {reply['failed']['reason']}\n{reply['failed']['details']}")
            failed = {"rule": "the problem runs", "passed": False, "found": reply.get("failed", {}).get("reason", "")}
            checks = reply["ok"]["checks"] if "ok" in reply else [failed]
            told.append({"id": one.id, "name": one.name, "hash": one.hash, "fit": all(c["passed"] for c in checks), "checks": checks})
    return told


def _row(problem: Problem) -> dict[str, Any]:
    told = facts(problem)
    dims = {name: {"low": dim.low, "high": dim.high, "align": dim.align, "fixed": dim.fixed} for name, dim in told.dims.items()}
    row = problem.model_dump(include={"id", "name", "variant", "level", "number", "hash", "origin"})
    return {**row, "domain": told.domain, "summary": told.summary, "dims": dims, "differentiable": told.differentiable}


def _bounds(problem: Problem) -> dict[str, tuple[float, float] | None]:
    """Smallest and largest bound over the sizes; None where the file declares none. The middle would tell the timed size."""
    if not facts(problem).dims:
        return {"min_bytes": None, "flops": None}
    from popcorn.suites.loading import load

    loaded = load(problem)
    ends = [{name: getattr(dim, end) for name, dim in loaded.dims.items()} for end in ("low", "high")]
    both = {"min_bytes": [loaded.min_bytes(dims, 4) for dims in ends], "flops": [loaded.flops(dims) for dims in ends]}
    return {name: None if low is None or high is None else (low, high) for name, (low, high) in both.items()}


def _span(bound: tuple[float, float] | None, show: Any) -> str:
    if bound is None:
        return "(not declared)"
    low, high = (show(value) for value in bound)
    return str(low) if low == high else f"{low} to {high}"


def _flop(count: float) -> str:
    return show_count(count, "FLOP")


def _backward(differentiable: bool | None) -> str:
    return "not said" if differentiable is None else "yes" if differentiable else "no"
