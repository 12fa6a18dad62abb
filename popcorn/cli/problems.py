"""`popcorn problems`: which problems there are, and one of them as an agent sees it."""

import json
import textwrap
from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from popcorn.cli.listing import lay_out, width_here
from popcorn.cli.problems_check import check_command
from popcorn.cli.problems_export import export_command
from popcorn.cli.problems_import import import_command
from popcorn.suites.costs import declared_costs, settings
from popcorn.suites.facts import Facts
from popcorn.suites.importing.shelf import get, names
from popcorn.suites.listing import listed_facts
from popcorn.suites.problems import Problem, facts, find_problem, list_problems, statement, suite_version
from popcorn.suites.shelved import list_shelved
from popcorn.suites.statement import describe_range
from popcorn.units import show_bytes, show_count

LEVELS = {1: "1 operators", 2: "2 fused operators", 3: "3 blocks", 4: "4 models"}
MOST_DOMAINS = 2
"""Named of each level; the others are counted."""

app = typer.Typer(
    help="The problems: list them, show one, check that one is fit, import those of others.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

app.command("check")(check_command)
app.command("import")(import_command)
app.command("export")(export_command)


@app.command("list")
def list_command(
    variant: Annotated[str | None, typer.Option(help="popcorn (sizes drawn per trial) or original (fixed sizes)")] = None,
    level: Annotated[int | None, typer.Option(min=1, max=4, help=", ".join(LEVELS.values()))] = None,
    suite: Annotated[str | None, typer.Option(help="an imported suite in place of those that ship")] = None,
    everything: Annotated[bool, typer.Option("--all", help="a row a problem, where nothing else narrows the list")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON array of all rows instead of a table")] = False,
) -> None:
    """List the problems that ship with Popcorn, or those of an imported suite; how many there are of each kind where nothing is asked for."""
    problems = list_problems(variant, level) if suite is None else [one for one in list_shelved(suite) if level in (None, one.level)]
    if as_json:
        listed = zip(problems, listed_facts(problems), strict=True)
        typer.echo(json.dumps([_row(one, told) for one, told in listed], indent=1, ensure_ascii=False))
        return
    if variant is level is suite is None and not everything:
        lines = [*_counted(problems), "`popcorn problems list --variant popcorn --level 1` lists some, --all every one"]
    else:
        lines = [*_listed(problems)]
    lines.append("`popcorn problems show ID` shows one as an agent sees it")
    if suite is None:
        lines.append("versions: " + ", ".join(f"{one} {suite_version(one)}" for one in sorted({str(one.variant) for one in problems})))
        if names():
            told = "imported: " + ", ".join(names()) + " (--suite NAME)"
            lines += textwrap.wrap(told, width_here(), break_long_words=False, break_on_hyphens=False)
    else:
        lines.append(f"version {get(suite).version}")
    print("\n".join(lines))  # not echo, which writes UTF-8 to a terminal of ASCII


def _counted(problems: list[Problem]) -> Iterator[str]:
    """A row for each variant and level: how many problems, and of what."""
    groups: dict[tuple[str, str], list[str]] = {}
    for one, told in zip(problems, listed_facts(problems), strict=True):
        groups.setdefault((str(one.variant), LEVELS[one.level or 0]), []).append(told.domain or "")
    rows = []
    for (variant, level), domains in groups.items():
        most = ", ".join(name for name, _ in Counter(domains).most_common(MOST_DOMAINS))
        rest = len(set(domains)) - MOST_DOMAINS
        rows.append((variant, level, str(len(domains)), most + (f" and {rest} more" if rest > 0 else "")))
    rows.append(("in all", "", str(len(problems)), ""))
    yield from lay_out(("variant", "level", "problems", "domains"), rows, width_here(), folding=(3,), right=(2,))


def _listed(problems: list[Problem]) -> Iterator[str]:
    """A row a problem."""
    rows = [
        (one.id, one.name.replace("_", " "), told.domain or "", " ".join(f"{name}={describe_range(dim)}" for name, dim in told.dims.items()),
         _backward(told.differentiable))
        for one, told in zip(problems, listed_facts(problems), strict=True)
    ]  # fmt: skip
    yield from lay_out(("id", "name", "domain", "sizes", "backward"), rows, width_here(), folding=(1, 2, 3))


@app.command("show")
def show_command(
    problem: Annotated[str, typer.Argument(help="id such as popcorn/L1/29, or the path of a .py file")],
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object")] = False,
) -> None:
    """Show a problem as an agent sees it, with the least bytes and flops that its sizes ask for."""
    found = find_problem(problem)
    bounds = _bounds(found)
    if as_json:
        typer.echo(
            json.dumps(
                {
                    **_row(found, facts(found)),
                    "bounds": bounds,
                    "settings": [{"name": one["name"], "gradient": one["gradient"]} for one in settings(found)],
                    "statement": statement(found),
                },
                indent=1,
                ensure_ascii=False,
            )
        )
        return
    typer.echo(statement(found))
    typer.echo("# a candidate: a .py file with class ModelNew, made and called as Model is (its")
    typer.echo("# weights are Model's where names agree), or a .c, .cpp or .cu file with")
    typer.echo("# popcorn_forward (its signature is in docs/toolchain.md)")
    typer.echo(f"# {found.id} {found.name}, hash {found.hash}")
    listed = settings(found)
    typer.echo(
        f"# settings: {', '.join(dict.fromkeys(one['name'] for one in listed))}"
        + ("; each also with gradients" if len({one["gradient"] for one in listed}) > 1 else "")
    )
    if bounds["min_bytes"] is None and bounds["flops"] is None:
        typer.echo("# least bytes and flops: not declared")
    else:
        typer.echo(f"# at least {_span(bounds['min_bytes'], show_bytes)} to move in float32, {_span(bounds['flops'], _flop)} to do")
    small = {name: int(dim.at("cpu")) for name, dim in facts(found).dims.items()}
    if small and any(small[name] != int(dim) for name, dim in facts(found).dims.items()):
        typer.echo("# on a machine without a GPU: about " + ", ".join(f"{name}={size}" for name, size in small.items()))


def _row(problem: Problem, told: Facts) -> dict[str, Any]:
    dims = {name: {"low": dim.low, "high": dim.high, "align": dim.align, "fixed": dim.fixed} for name, dim in told.dims.items()}
    row = problem.model_dump(include={"id", "name", "variant", "level", "number", "hash", "origin", "suite", "suite_version"})
    return {**row, "domain": told.domain, "summary": told.summary, "dims": dims, "differentiable": told.differentiable}


def _bounds(problem: Problem) -> dict[str, tuple[float, float] | None]:
    """Smallest and largest bound over the sizes; None where the file declares none. The middle would tell the timed size."""
    told = facts(problem)
    if not told.dims:
        return {"min_bytes": None, "flops": None}
    ends = [{name: getattr(dim, end) for name, dim in told.dims.items()} for end in ("low", "high")]
    if problem.origin == "suite":
        both = [declared_costs(problem, dims) for dims in ends]
    else:
        from popcorn.suites.loading import load

        loaded = load(problem)
        both = [(loaded.min_bytes(dims, 4), loaded.flops(dims)) for dims in ends]
    pairs = zip(("min_bytes", "flops"), zip(*both, strict=True), strict=True)
    return {name: None if low is None or high is None else (low, high) for name, (low, high) in pairs}


def _span(bound: tuple[float, float] | None, show: Any) -> str:
    if bound is None:
        return "(not declared)"
    low, high = (show(value) for value in bound)
    return str(low) if low == high else f"{low} to {high}"


def _flop(count: float) -> str:
    return show_count(count, "FLOP")


def _backward(differentiable: bool | None) -> str:
    return "not said" if differentiable is None else "yes" if differentiable else "no"
